"""A password is never kept, and only itself opens."""

from __future__ import annotations

import pytest

from deepbass.core.errors import DataError
from deepbass.label.passwords import check_password, hash_password


def test_only_the_password_itself_opens_and_its_hash_does_not_hold_it() -> None:
    hashed = hash_password("correct horse")
    assert check_password("correct horse", hashed)
    assert not check_password("correct horsf", hashed)
    assert not check_password("", hashed)
    assert not check_password(hashed, hashed)
    assert "horse" not in hashed
    assert hashed.startswith("scrypt$32768$8$1$")


def test_the_same_password_has_another_hash_every_time() -> None:
    assert hash_password("correct horse") != hash_password("correct horse")


def test_an_accent_is_the_same_on_every_keyboard() -> None:
    assert check_password("cafe\u0301 au lait", hash_password("caf\u00e9 au lait"))


def test_somebody_unknown_does_not_get_in() -> None:
    assert not check_password("correct horse", None)
    assert not check_password("", None)


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "scrypt$1$2",
        "plain$32768$8$1$AAAA$AAAA",
        "scrypt$32768$8$1$?$?",
        "scrypt$3$8$1$AAAA$AAAA",
        "scrypt$x$8$1$A$A",
        "scrypt$1073741824$8$1$AAAA$AAAA",
        "scrypt$99999999999999999999999$8$1$AAAA$AAAA",
        "scrypt$-1$8$1$AAAA$AAAA",
        "scrypt$32768$8$1$AAAA$",
    ],
)
def test_a_damaged_hash_lets_nobody_in(damaged: str) -> None:
    assert not check_password("correct horse", damaged)
    assert not check_password("", damaged)


def test_a_password_too_short_or_too_long_is_refused() -> None:
    for password in ("", "short", "x" * 1025):
        with pytest.raises(DataError, match=f"The password has {len(password)} characters"):
            hash_password(password)
    assert not check_password("x" * 1025, hash_password("x" * 1024))


def test_other_parameters_than_those_of_today_are_read_from_the_hash() -> None:
    import base64
    import hashlib

    key = hashlib.scrypt(b"correct horse", salt=b"salt", n=16, r=4, p=2, dklen=32)
    hashed = f"scrypt$16$4$2${base64.b64encode(b'salt').decode()}${base64.b64encode(key).decode()}"
    assert check_password("correct horse", hashed)
    assert not check_password("correct house", hashed)
