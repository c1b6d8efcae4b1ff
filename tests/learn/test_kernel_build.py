"""The kernel is there where it can be, so that its tests are not skipped unnoticed."""

from __future__ import annotations

import os
import platform
import shutil

import pytest

from deepbass.learn.kernel import native


def test_where_there_is_a_compiler_there_is_a_kernel() -> None:
    if os.environ.get("DEEPBASS_BUILD_KERNEL") == "0" or not shutil.which("g++"):
        pytest.skip("deepbass is installed without its kernel here")
    assert "base" in native.widths()
    if platform.machine() == "x86_64":
        assert native.build("avx2") is not None
        assert native.build("avx512") is not None
