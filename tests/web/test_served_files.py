"""What the page is made of, pictures and downloads: what is served, how often, and what never."""

from __future__ import annotations

import csv
import io
import json
import os
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image
from starlette.requests import Request

from deepbass.label.project import Project
from deepbass.web.static_files import Files
from tests.label.projects import begin_model, commit, make_images, make_project, make_ranking
from tests.web.served import Served, label, served, small_project


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Served]:
    with served(small_project(tmp_path)) as here:
        yield here


def test_a_picture_is_served_by_id_and_asked_for_again_without_being_sent_again(page: Served) -> None:
    first = page.client.get("/image/3?side=64")
    assert first.headers["content-type"] == "image/png"
    assert first.headers["cache-control"] == "private, no-cache"
    tag = first.headers["etag"]
    again = page.client.get("/image/3?side=64", headers={"If-None-Match": tag})
    assert again.status_code == 304
    assert again.content == b""
    project = page.get("/api/project")["id"]
    assert "immutable" in page.client.get(f"/image/3?side=64&v={project}").headers["cache-control"]
    assert page.client.get("/image/4?side=64").headers["etag"] != tag
    make_images(page.project.path.parent / "images", ["003.png", "003.png"], side=9)
    changed = page.client.get("/image/3?side=64", headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.content != first.content


def test_what_cannot_be_shown_has_a_placeholder_with_the_reason(tmp_path: Path) -> None:
    source = make_images(tmp_path / "images", ["a.png", "b.png", "c.png"])
    (source / "b.png").write_bytes(b"<script>alert(1)</script>")
    with served(make_project(tmp_path / "project", source)) as here:
        names = {question["name"]: question["item"] for question in here.get("/api/next", count=9)["questions"]}
        broken = here.client.get(f"/image/{names['b.png']}")
        assert broken.status_code == 200
        assert broken.headers["content-type"] == "image/svg+xml"
        assert "not an image" in broken.text
        assert "<script" not in broken.text
        (source / "c.png").unlink()
        assert "not there any more" in here.client.get(f"/image/{names['c.png']}").text


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/image/../web.key", "/project.json"]
)
def test_no_path_from_a_client_reaches_the_file_system(page: Served, path: str) -> None:
    with httpx.Client(base_url=page.origin, cookies=dict(page.client.cookies), trust_env=False) as client:
        answer = client.send(httpx.Request("GET", httpx.URL(page.origin + path), headers={"Cookie": page.cookie}))
    assert answer.status_code == 404


def test_the_pages_own_files_are_checked_for_news_every_time(page: Served) -> None:
    with page.anonymous() as anonymous:  # the page to log in on needs them, and they hold no secrets
        script = anonymous.get("/static/main.js")
        assert script.headers["content-type"].startswith("text/javascript")
        assert script.headers["cache-control"] == "no-cache"
        assert anonymous.get("/static/main.js", headers={"If-None-Match": script.headers["etag"]}).status_code == 304
        assert anonymous.get("/static/nothing.js").status_code == 404


def test_only_known_kinds_of_files_are_served(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("1")
    (tmp_path / "secret.key").write_text("2")
    files = Files(tmp_path)
    assert set(files._files) == {"a.js"}


def test_an_update_under_a_running_server_is_served_after_a_restart_whole_and_never_in_part(tmp_path: Path) -> None:
    script = tmp_path / "a.js"
    script.write_text("old")
    running = Files(tmp_path)
    request = Request({"type": "http", "method": "GET", "headers": []})
    before = running.respond(request, "a.js")
    at = script.stat().st_mtime_ns
    script.write_text("new")
    os.utime(script, ns=(at, at))  # as an installer does that sets all times to the same
    assert running.respond(request, "a.js").body == b"old"
    after = Files(tmp_path).respond(request, "a.js")
    assert after.body == b"new"
    assert after.headers["etag"] != before.headers["etag"]


def test_every_format_can_be_downloaded(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with begin_model(project) as run:
        commit(run, 1, make_ranking([0, 1] * 6))
    with served(project) as here:
        here.act(*(label(item, item % 2) for item in range(4)))
        table = here.client.get("/api/export/csv")
        assert 'filename="project.csv"' in table.headers["content-disposition"]
        assert table.headers["cache-control"] == "no-store"
        rows = list(csv.DictReader(io.StringIO(table.text)))
        assert [row["label"] for row in rows if row["annotator"] == "ann"] == ["cat", "dog"] * 2
        lines = here.client.get("/api/export/jsonl").text.splitlines()
        assert json.loads(lines[0])
        assert len(here.client.get("/api/export/label-studio").json()) == 12
        images = zipfile.ZipFile(io.BytesIO(here.client.get("/api/export/imagefolder").content))
        assert "project-images/people/cat/000.png" in images.namelist()
        assert images.testzip() is None
        assert here.client.get("/api/export/model").headers["content-type"] == "application/zip"
        more = [here.client.get("/api/export/csv").status_code for _ in range(12)]
        assert 429 in more  # each reads everything there is
    assert not list(project.path.glob(".export-*"))
    assert (tmp_path / "images" / "000.png").exists()


def test_an_export_leaves_nothing_behind_whatever_part_of_it_is_asked_for(page: Served) -> None:
    bad = {"bytes=abc": 400, "lines=1-2": 400, "bytes=999999999-": 416, f"bytes={'9' * 5000}-": 400}
    for wanted, status in {**bad, "bytes=0-9": 206, "bytes=0-9,20-29": 206}.items():
        assert page.client.get("/api/export/csv", headers={"Range": wanted}).status_code == status
        assert_no_exports(page.project)


def test_an_export_leaves_nothing_behind_when_the_reader_goes_away(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    big = np.random.default_rng(0).integers(0, 256, (1500, 1500, 3), dtype=np.uint8)
    for number in range(4):  # more than fits into the buffers of a connection
        Image.fromarray(big).save(tmp_path / "images" / f"{number:03d}.png")
    with served(project) as here:
        here.act(*(label(item) for item in range(4)))
        with here.client.stream("GET", "/api/export/imagefolder") as answer:
            assert answer.status_code == 200
            assert list(project.path.glob(".export-*"))  # it is being sent
        assert_no_exports(project)


def assert_no_exports(project: Project) -> None:
    deadline = time.monotonic() + 30  # removed after the last byte, which may be read before
    while (left := list(project.path.glob(".export-*"))) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left


def test_an_export_that_cannot_be_made_says_why(page: Served) -> None:
    answer = page.client.get("/api/export/model")
    assert answer.status_code in (400, 503)
    assert "no trained model yet" in answer.json()["error"]
    assert not list(page.project.path.glob(".export-*"))
