"""Run as a script: a cluster of this machine that asks for a token, until standard input ends; prints its address."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "00112233445566778899aabbccddeeff"}
    from deepbass.cluster.connection import connected

    with connected(None, 1) as cluster:
        sys.stdout.write(f"{cluster.address}\n")
        sys.stdout.flush()
        sys.stdin.read()
