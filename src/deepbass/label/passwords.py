"""Passwords: kept as scrypt hashes that say how they were made, and checked in the same time whatever is wrong."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import unicodedata

from deepbass.core.errors import DataError

SHORTEST, LONGEST = 8, 1024  # characters

_N, _R, _P = 2**15, 8, 1  # 32 MB and a tenth of a second a try
_SALT_BYTES = 16
_KEY_BYTES = 32
_MEMORY = 128 * 2**20  # the most that a stored hash may ask for


def hash_password(password: str) -> str:
    """Make what is kept of a password: scrypt$n$r$p$salt$key."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise DataError(
            f"The password has {len(password)} characters: choose one of {SHORTEST} or more, {LONGEST} at most."
        )
    salt = os.urandom(_SALT_BYTES)
    return "$".join(["scrypt", str(_N), str(_R), str(_P), _text(salt), _text(_key(password, salt, _N, _R, _P))])


def check_password(password: str, hashed: str | None) -> bool:
    """Tell whether a password is the one; None, for somebody unknown, takes as long as a wrong password."""
    n, r, p, salt, key = _parts(hashed) if hashed is not None else (_N, _R, _P, bytes(_SALT_BYTES), b"")
    if len(password) > LONGEST:  # hashing it would be somebody else's way to keep this machine busy
        return False
    try:
        given = _key(password, salt, n, r, p)
    except (TypeError, ValueError, OverflowError, MemoryError):  # a damaged hash lets nobody in
        return False
    return hmac.compare_digest(given, key)


def _key(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    typed = unicodedata.normalize("NFC", password).encode(errors="surrogatepass")  # the same on every keyboard
    return hashlib.scrypt(typed, salt=salt, n=n, r=r, p=p, maxmem=_MEMORY, dklen=_KEY_BYTES)


def _parts(hashed: str) -> tuple[int, int, int, bytes, bytes]:
    try:
        kind, n, r, p, salt, key = hashed.split("$")
        if kind != "scrypt":
            raise ValueError(kind)
        return int(n), int(r), int(p), base64.b64decode(salt, validate=True), base64.b64decode(key, validate=True)
    except (ValueError, binascii.Error):
        return _N, _R, _P, bytes(_SALT_BYTES), b""  # equals no key


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
