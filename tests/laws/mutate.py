"""Damage files at random, but by seed: bytes as disks, editors and attackers change them."""

from __future__ import annotations

import json
import random
import re
import struct
import zlib
from collections.abc import Callable
from typing import Any

Mutate = Callable[[bytes, random.Random], bytes]

EXTREMES = (0, 1, 2, 100, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1, 2**63, 2**64 - 1)
NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?")


def _span(content: bytes, rng: random.Random, longest: int = 64) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + rng.randrange(1, longest + 1))


def flip_bit(content: bytes, rng: random.Random) -> bytes:
    """Change one bit."""
    if not content:
        return content
    place = rng.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :]


def change_bytes(content: bytes, rng: random.Random) -> bytes:
    """Overwrite a few bytes, with anything or with all the same."""
    start, end = _span(content, rng, 8)
    length = end - start
    return content[:start] + rng.choice([rng.randbytes(length), bytes(length), b"\xff" * length]) + content[end:]


def truncate(content: bytes, rng: random.Random) -> bytes:
    """Lose the end, or the beginning."""
    place = rng.randrange(len(content) + 1)
    return content[:place] if rng.random() < 0.8 else content[place:]


def insert(content: bytes, rng: random.Random) -> bytes:
    """Put bytes in between."""
    place = rng.randrange(len(content) + 1)
    return content[:place] + rng.randbytes(rng.choice([1, 3, 8, 500])) + content[place:]


def remove(content: bytes, rng: random.Random) -> bytes:
    """Take bytes out."""
    start, end = _span(content, rng)
    return content[:start] + content[end:]


def repeat(content: bytes, rng: random.Random) -> bytes:
    """Say something again and again."""
    start, end = _span(content, rng)
    return content[:end] + content[start:end] * rng.choice([1, 2, 300]) + content[end:]


def swap(content: bytes, rng: random.Random) -> bytes:
    """Exchange two pieces."""
    a, b, c = sorted(rng.randrange(len(content) + 1) for _ in range(3))
    return content[:a] + content[b:c] + content[a:b] + content[c:]


def forge_length(content: bytes, rng: random.Random) -> bytes:
    """Write an extreme number where there may be a length or an offset."""
    kind = rng.choice(["<H", ">H", "<I", ">I", "<Q", ">Q"])
    size = struct.calcsize(kind)
    place = rng.randrange(min(len(content), rng.choice([32, 256, 1 << 20])) + 1)
    number = rng.choice(EXTREMES) & ((1 << 8 * size) - 1)
    return content[:place] + struct.pack(kind, number) + content[place + size :]


def change_number(content: bytes, rng: random.Random) -> bytes:
    """Replace a number that is written as text, by one of up to 5,000 digits."""
    found = list(NUMBER.finditer(content))
    if not found:
        return content
    match = rng.choice(found)
    new = rng.choice(
        [b"0", b"-1", b"1e999", b"NaN", b"9" * 5000, b"4294967296", b"99999999999", b"0.5", b'"7"', b"null"]
    )
    return content[: match.start()] + new + content[match.end() :]


def nest(content: bytes, rng: random.Random) -> bytes:
    """Nest 3,000 levels deep, for any parser that calls itself."""
    place = rng.randrange(len(content) + 1)
    opening, closing = rng.choice([(b"[", b"]"), (b'{"a":', b"}"), (b"(", b")"), (b"-", b"")])
    return content[:place] + opening * 3000 + b"1" + closing * rng.choice([0, 3000]) + content[place:]


def odd_text(content: bytes, rng: random.Random) -> bytes:
    """Put in what is no text, or hardly any."""
    odd = [b"\0", b"\xff\xfe", b"\xed\xa0\x80", rb"\ud800", b"\r", b'"', b"\\", b"\xe2\x80\xae", b"\x1b[2J", b"," * 99]
    place = rng.randrange(len(content) + 1)
    return content[:place] + rng.choice([*odd, b"x" * 200_000]) + content[place:]


def change_line(content: bytes, rng: random.Random) -> bytes:
    """Drop a line, say it twice, or move it."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    line = lines.pop(rng.randrange(len(lines)))
    for _ in range(rng.randrange(3)):
        lines.insert(rng.randrange(len(lines) + 1), line)
    return b"".join(lines)


def change_json(content: bytes, rng: random.Random) -> bytes:
    """Drop a field of a JSON document, or give it a value that is valid JSON and makes no sense."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return content
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            places.append((value, key))
            walk(value[key])

    walk(document)
    if not places:
        return content
    inside, key = rng.choice(places)
    odd = [
        None,
        True,
        -1,
        0,
        1e308,
        2**70,
        "",
        "x",
        "\ud800",
        "\0",
        "../..",
        [],
        {},
        [None],
        {"a": 1},
        [[1], 2],
        inside,
    ]
    if rng.random() < 0.3:
        del inside[key]
    else:
        inside[key] = rng.choice(odd[:-1])
    return json.dumps(document).encode()


BINARY = (flip_bit, change_bytes, truncate, insert, remove, repeat, swap, forge_length)
TEXT = (flip_bit, change_bytes, truncate, remove, repeat, swap, change_number, nest, odd_text, change_line)
JSON = (*TEXT, change_json, change_json, change_json, change_json, change_json)


def mutate(content: bytes, rng: random.Random, mutators: tuple[Mutate, ...]) -> bytes:
    """Damage a file in one to three places."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        content = rng.choice(mutators)(content, rng)
    return content


def repair_png(content: bytes) -> bytes:
    """Compute the checksums of a PNG's chunks anew, so that what they guard is read at all."""
    whole, place = content[:8], 8
    while place + 12 <= len(content):
        length = int.from_bytes(content[place : place + 4])
        end = place + 8 + length
        if end + 4 > len(content):
            break
        whole += content[place:end] + struct.pack(">I", zlib.crc32(content[place + 4 : end]))
        place = end + 4
    return whole + content[place:]
