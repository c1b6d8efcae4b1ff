"""Requests as nobody should send them: broken as HTTP, or good HTTP with what does not belong there."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar
from urllib.parse import quote

from deepbass.store.names import PROJECT_DB_FILE, WEB_KEY_FILE

T = TypeVar("T")

# what the client does when it has sent everything: read up to the end or only how the answer begins, say that nothing
# follows, break the connection, or wait without a word
After = Literal["read", "look", "half-close", "vanish", "wait"]

DIGITS = ("9" * 19, "9" * 4300, "9" * 4301, "9" * 9000, "0" * 5000, "1" + "0" * 400)
WORDS = (
    "", "0", "1", "-1", "-0", "+1", "1.5", "1e3", "1e999", "NaN", "Infinity", "null", "true", "0x10", "1_000",
    "\u0661",
    "\u00b2", "\uff11", "a\x00b", "\n", "\r\nX-Injected: 1", "\u202e", "\ud800", "\udfff", "\U0001f600", "'", '"',
    "\\",
    "../../etc/passwd", "..\\..\\web.key", "%", "%%", "<script>", "{{7*7}}", "${x}", "' OR 1=1 --", "x" * 300,
    *DIGITS,
)  # fmt: skip
PIECES = (
    "..", ".", "", "%2e%2e", "%2E%2E%2F", "..%2f", "%2f", "%5c", "%00", "%ff", "%c0%ae%c0%ae", "%ED%A0%80", "%u002e",
    "%",
    "%g0", "%0a", "%0d%0aX-Injected:%201", "%20", "%D9%A1", "%EF%BC%91", ";a=b", "*", "etc", "passwd", WEB_KEY_FILE,
    PROJECT_DB_FILE,
    "~", "@", ":", "[", "|", "^", "`", "-1", "1.0", "1e1", "0x1", "x" * 5000, *DIGITS,
)  # fmt: skip
PATHS = (
    "/", "/login", "/logout", "/favicon.ico", "/static/main.js", "/static/", "/image/0", "/image/", "/api/project",
    "/content/0", "/api/next", "/api/last", "/api/guess/0", "/api/alike/0", "/api/note/0", "/api/history",
    "/api/guesses", "/api/disagreements", "/api/targets", "/api/target", "/api/ahead", "/api/panel", "/api/live",
    "/api/export/csv", "/api/export/jsonl", "/api/acts", "/api/classes", "/nowhere",
)  # fmt: skip
POSTS = ("/api/acts", "/api/acts", "/api/acts", "/api/classes", "/login", "/logout")
KEYS = (
    "count",
    "before",
    "limit",
    "who",
    "only",
    "class",
    "offset",
    "side",
    "v",
    "token",
    "as",
    "",
    "[]",
    "a[b]",
    "%00",
)
METHODS = ("GET", "GET", "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PRI", "get", "X" * 300)


@dataclass(frozen=True)
class Case:
    """What to send, and what to do then."""

    sent: bytes
    after: After


@dataclass(frozen=True)
class Maker:
    """Makes cases. ``cookie`` makes the cookie of a new session, so that no limit on rates hides anything."""

    rng: random.Random
    host: str
    cookie: Callable[[], str]

    def case(self) -> Case:
        """Make one."""
        kind = self._one((self._rubbish, self._mutant, self._headers, self._chunks, self._pipeline, self._lengths))
        if self.rng.random() < 0.5:
            kind = self._one((self._path, self._query, self._body, self._body, self._cookies, self._range))
        return kind()

    # what is no HTTP

    def _rubbish(self) -> Case:
        sent = self._one(
            (
                b"", b"\r\n" * 20, b"\x00" * 100, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET\r\n\r\n",
                b"GET /\r\n\r\n",
                b"GET / HTTP/1.1\n\n", b"GET  /  HTTP/1.1\r\n\r\n", b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
                b"GET / HTTP/0.9\r\n\r\n",
                b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n",
                b"SSH-2.0-x\r\n",
                b"G\x00T / HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
                b"GET /\xff HTTP/1.1\r\n\r\n",
                self.rng.randbytes(self.rng.choice((1, 10, 1000, 70_000))), b"a" * 40_000, b"GET /" + b"a" * 40_000,
            )
        )  # fmt: skip
        return Case(
            sent, self._one(("half-close", "half-close", "vanish", "look" if b"\r\n\r\n" in sent else "vanish"))
        )

    def _mutant(self) -> Case:
        good = bytearray(self._request("POST", "/api/acts", self._good_headers(), self._acts_body()))
        for _ in range(self.rng.choice((1, 1, 2, 5, 20))):
            at = self.rng.randrange(len(good) + 1)
            match self.rng.randrange(4):
                case 0:
                    good[at : at + 1] = self.rng.randbytes(1)
                case 1:
                    del good[at : at + self.rng.choice((1, 2, 10))]
                case 2:
                    good[at:at] = self.rng.choice((b"\r\n", b"\x00", b":", b" ", b"\xff", b"\n", good[:at][-30:]))
                case _:
                    good = good[: max(at, 1)]
        return Case(bytes(good), self._one(("half-close", "half-close", "half-close", "vanish")))

    def _headers(self) -> Case:
        odd = self._one(
            (
                b"X\x00: 1", b": x", b"no colon", b"a b: 1", b"X: \x00", b"X: \xff\xfe", b" folded: 1",
                b"X: a\r\n folded", b"X: a\rb",
                b"X:" + b"a" * 40_000, b"\r\n".join(b"X%d: %d" % (n, n) for n in range(1500)), b"X: " + b"a" * 30_000,
                b"Host: evil.example", b"Host:", b"Content-Type: \xff", b"Transfer-Encoding: gzip",
                b"Transfer-Encoding: chunked, x",
                b"Expect: 100-continue", b"Expect: x", b"Upgrade: websocket\r\nConnection: Upgrade",
                b"Upgrade: h2c\r\nConnection: Upgrade",
                b"Connection: keep-alive, close, \xff", b"If-None-Match: *", b"If-None-Match: \xff",
                b"If-Modified-Since: x",
                b"Sec-Fetch-Site: \xff", b"Origin: null", b"Cookie: \xff=\xff", b"X-Forwarded-For: \x7f",
                b"Content-Encoding: gzip",
            )
        )  # fmt: skip
        method, path = self._one((("GET", self._one(PATHS)), ("POST", self._one(POSTS))))
        headers = self._good_headers() if method == "POST" else {"Cookie": self.cookie(), "Connection": "close"}
        lines = [f"{name}: {value}".encode() for name, value in headers.items()]
        lines.insert(self.rng.randrange(len(lines) + 1), odd)
        if self.rng.random() < 0.8:
            lines.insert(0, f"Host: {self.host}".encode())
        body = b"{}" if method == "POST" else b""
        if body:
            lines.append(b"Content-Length: 2")
        return Case(b"\r\n".join((f"{method} {path} HTTP/1.1".encode(), *lines, b"", body)), "look")

    def _lengths(self) -> Case:
        length = self._one(
            (
                "-1",
                "+2",
                "2, 2",
                "2, 3",
                "0x2",
                "",
                " ",
                "2 2",
                "1e1",
                "\xb2",
                "0",
                "1",
                "3",
                "1000",
                "65536",
                "70000",
                *DIGITS,
            )
        )
        more = self._one(
            ("", "Content-Length: 2\r\n", "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: identity\r\n")
        )
        head = "".join(f"{name}: {value}\r\n" for name, value in self._good_headers().items())
        start = f"POST {self._one(POSTS)} HTTP/1.1\r\nHost: {self.host}\r\n{head}Content-Length: {length}\r\n{more}\r\n"
        rare: After = "wait" if self.rng.random() < 0.3 else "half-close"
        return Case(start.encode("latin-1") + b"{}", rare)

    def _chunks(self) -> Case:
        body = b"".join(
            self._one(
                (
                    b"2\r\n{}\r\n", b"0\r\n\r\n", b"0\r\n\r\n", b"-1\r\n{}\r\n", b"zz\r\n", b"2\r\n{}",
                    b"2;ext=\x00\r\n{}\r\n", b"FFFFFFFFFFFFFFFFFFFF\r\n",
                    b"2\n{}\n", b"\r\n", b"2 \r\n{}\r\n", b"0\r\nX: trailer\r\n\r\n",
                    b"0\r\n" + b"T: x\r\n" * 3000 + b"\r\n", b"1\r\n{\r\n1\r\n}\r\n",
                    b"10000\r\n" + b" " * 0x10000 + b"\r\n", b"5" * 5000 + b"\r\n",
                    b"2;" + b"x" * 40_000 + b"\r\n{}\r\n",
                )
            )
            for _ in range(self.rng.choice((1, 2, 3, 6)))
        )  # fmt: skip
        headers = {**self._good_headers(), "Transfer-Encoding": "chunked"}
        path = self._one(POSTS)
        return Case(self._request("POST", path, headers, body, length=False), self._one(("half-close", "vanish")))

    def _pipeline(self) -> Case:
        many = [
            self._one(
                (
                    self._request("GET", "/api/panel", {"Cookie": self.cookie()}),
                    self._request("POST", "/api/acts", self._good_headers(close=False), self._acts_body()),
                    self._request("GET", "/static/main.js", {}),
                    self._request("HEAD", "/", {}),
                    self._request("GET", "/" + "9" * 5000, {"Cookie": self.cookie()}),
                    b"rubbish\r\n\r\n",
                )
            )
            for _ in range(self.rng.choice((2, 5, 30)))
        ]
        return Case(b"".join(many) + self._request("GET", "/", {"Connection": "close"}), "read")

    # HTTP

    def _path(self) -> Case:
        path = self._one(PATHS) if self.rng.random() < 0.7 else ""
        for _ in range(self.rng.choice((1, 1, 2, 8))):
            path += ("/" if self.rng.random() < 0.7 else "") + self._one(PIECES)
        if self.rng.random() < 0.1:
            path = self._one(
                ("*", "http://evil.example/", f"http://{self.host}/api/panel", "//evil.example/", "evil:80", "?", "#")
            )
        headers = {
            "Cookie": self.cookie(),
            "Connection": "close",
            "X-Deepbass": "1",
            "Content-Type": "application/json",
        }
        return Case(self._request(self._one(METHODS), path or "/", headers), "look")

    def _query(self) -> Case:
        parts = [
            self._one((f"{self._one(KEYS)}={self._quoted(self._one(WORDS))}", self._one(KEYS), "&&", "==", "a=b;c=d"))
            for _ in range(self.rng.choice((1, 2, 3, 500)))
        ]
        path = f"{self._one(PATHS)}?{'&'.join(parts)}"
        return Case(self._request("GET", path, {"Cookie": self.cookie(), "Connection": "close"}), "look")

    def _body(self) -> Case:
        body = self._one((self._acts_body, self._shapeless, self._deep, self._login_body))()
        path = self._one(POSTS)
        headers = self._good_headers()
        if self.rng.random() < 0.1:
            kinds = (
                "application/json; charset=\xff",
                "application/json;;;",
                "text/plain",
                "",
                "application/JSON; charset=utf-16",
            )
            headers["Content-Type"] = self._one(kinds)
        return Case(self._request("POST", path, headers, body), "read")

    def _cookies(self) -> Case:
        good = self.cookie()
        name, _, value = good.partition("=")
        at = self.rng.randrange(len(value))
        bad = self._one(
            (
                f"{name}=", f"{name}", f"={value}", f"{name}={value[:at]}", f"{name}={value[:at]}{value[at + 1 :]}",
                f"{name}={value * 2}", ";" * 5000,
                f"{name}=" + "." * 5000, f"{name}=" + "9" * 9000, f"{name}=.eJw", f"{name}=a.b.c.d.e",
                f"{name}=\xe9.\xff.\xfe", "a=b; " * 3000,
                f'{name}="{value}"', f"{name}={value}; {name}={value[:-1]}", '_xsrf={"a": 1}; ' + good,
            )
        )  # fmt: skip
        path = self._one(("/api/panel", "/", "/login", "/image/0"))
        return Case(self._request("GET", path, {"Cookie": bad, "Connection": "close"}), "read")

    def _range(self) -> Case:
        wanted = self._one(
            (
                "bytes=0-", "bytes=-", "bytes=-5", "bytes=5-2", "bytes=abc", "lines=1-2", "bytes", "=", "",
                "bytes=" + "0-1," * 500, "bytes=0-0,-1",
                "bytes=" + "9" * 5000 + "-", "bytes=-" + "9" * 5000, "bytes=1-\xb2", "BYTES=0-9", "bytes=0-9;x",
            )
        )  # fmt: skip
        path = self._one(("/api/export/csv", "/api/export/jsonl", "/static/main.js", "/image/0", "/api/panel"))
        headers = {
            "Cookie": self.cookie(),
            "Range": wanted,
            "If-Range": self._one(("", "x", '"x"', "W/\xff")),
            "Connection": "close",
        }
        return Case(self._request(self._one(("GET", "GET", "HEAD")), path, headers), "read")

    # parts

    def _one(self, choices: Sequence[T]) -> T:
        return self.rng.choice(choices)

    def _quoted(self, word: str) -> str:
        return quote(word.encode("utf-8", "surrogatepass"))[:9000]

    def _good_headers(self, *, close: bool = True) -> dict[str, str]:
        headers = {"Cookie": self.cookie(), "X-Deepbass": "1", "Content-Type": "application/json"}
        return {**headers, "Connection": "close"} if close else headers

    def _request(
        self, method: str, path: str, headers: dict[str, str], body: bytes = b"", *, length: bool = True
    ) -> bytes:
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: {self.host}",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        if length and (body or method == "POST"):
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join((*lines, "", "")).encode("latin-1") + body

    def _value(self, depth: int = 2) -> Any:
        plain: tuple[Any, ...] = (
            None,
            True,
            False,
            0,
            1,
            -1,
            3,
            2**31,
            2**63,
            2**70,
            10**4000,
            0.5,
            -0.0,
            1e300,
            *WORDS[:30],
        )
        if depth and self.rng.random() < 0.3:
            inside = [self._value(depth - 1) for _ in range(self.rng.choice((0, 1, 3)))]
            return self._one((inside, {str(each)[:20]: each for each in inside if not isinstance(each, int)}))
        return self._one(plain)

    def _acts_body(self) -> bytes:
        acts = []
        for _ in range(self.rng.choice((0, 1, 1, 2, 5))):
            act: dict[str, Any] = {
                "uid": f"bad-{self.rng.random()}",
                "item": self.rng.randrange(20),
                "kind": "label",
                "class": 0,
            }
            for field in self.rng.sample(
                ("uid", "item", "kind", "class", "undoes", "seconds", "saw_guess", "why", "x"), 2
            ):
                act[field] = self._value()
            if self.rng.random() < 0.2:
                del act[self._one(tuple(act))]
            acts.append(act)
        body = {"acts": acts, "want": self._one((0, 1, 2)), "holding": []}
        if self.rng.random() < 0.4:
            body[self._one(("acts", "want", "holding", "name", "x"))] = self._value()
        return json.dumps(body).encode()

    def _login_body(self) -> bytes:
        return json.dumps({"name": self._one((*WORDS[:33], self._value())), "password": self._value()}).encode()

    def _shapeless(self) -> bytes:
        return self._one(
            (
                b"", b"{", b"[]", b"null", b"1", b'"x"', b"{}{}", b"\xff", b"\xef\xbb\xbf{}", "{}".encode("utf-16"),
                b"{'a': 1}", b"\x00", b"{\x00}",
                b'{"acts": [}', b'{"acts": NaN}', b'{"want": 1e999}', b'{"want": -Infinity}',
                b'{"acts": [], "acts": 1}', b'{"name": "\\ud800"}',
                b'{"acts": [{"uid": "\\udc00", "item": 1, "kind": "label", "class": 0}]}',
                b'{"want": ' + b"9" * 9000 + b"}",
                b'{"holding": [' + b"1," * 300 + b"1]}", b'{"x": "' + b"y" * 70_000 + b'"}',
                json.dumps(self._value(4)).encode(),
                b'{"acts": [' + b'{"uid": "bad-x", "item": 1},' * 250 + b"0]}", b'{"name": "a\\u0000b"}',
                b'{"name": ["a"]}',
            )
        )  # fmt: skip

    def _deep(self) -> bytes:
        levels = self.rng.choice((100, 1000, 5000, 30_000))
        opening, closing = self._one(((b"[", b"]"), (b'{"a":', b"}"), (b'{"acts":[', b"]}"), (b"[", b"")))
        return (b'{"acts":' + opening * levels + b"1" + closing * levels + b"}")[:65_000]
