"""Labels come in from elsewhere whole or not at all, and once however often they are imported."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deepbass.core.errors import DataError, StoreError
from deepbass.exchange import text
from deepbass.exchange.exports import export
from deepbass.exchange.imports import import_labels
from deepbass.label.acts import NewAct
from deepbass.label.journal import Journal
from deepbass.label.project import Project
from tests.label.projects import act, begin_model, commit, labels, make_images, make_project, make_ranking, other, say

NAMES = ["a/0.png", "a/1.png", "b/0.png", "b/2.png", "top.png"]
ODD = ["<script>", "=1+1", "a,b", '"', "'; DROP TABLE acts; --", "@x", "\\n", "über"]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path / "project", make_images(tmp_path / "images", NAMES))


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def acts(project: Project) -> list[tuple[str, str, int | None]]:
    with Journal.open(project.labels_db, "ro") as journal:
        return [(one.why, one.annotator, one.class_) for one in journal.acts()]


def state(project: Project) -> tuple[object, ...]:
    with Journal.open(project.labels_db, "ro") as journal:
        return tuple(journal.acts()), tuple(journal.classes()), tuple(journal.items())


def task(image: object, *annotations: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": 1, "data": {"image": image}, "annotations": list(annotations), **more}


def chosen(*labels: str, who: Any = 7, name: str = "tag", **more: Any) -> dict[str, Any]:
    """Spell an annotation as Label Studio exports it."""
    result = {
        "value": {"choices": list(labels)},
        "id": "Dx_aB91ISN",
        "from_name": name,
        "to_name": "img",
        "type": "choices",
        "origin": "manual",
    }
    times = {"created_at": "2021-03-09T22:16:08.728353Z", "updated_at": "2021-03-09T22:16:08.728353Z"}
    base = {"id": 1001, "completed_by": who, "result": [result], "was_cancelled": False, "ground_truth": False}
    return {**base, **times, "lead_time": 4.288, "task": 1, "parent_prediction": None, **more}


# tables


def test_a_table_of_paths_and_labels_is_taken_up(project: Project, tmp_path: Path) -> None:
    table = write(tmp_path / "l.csv", "path,label,annotator\na/0.png,cat,\na/1.png,dog,bob\n\nb/0.png,,\n")
    done = import_labels(project, table, "ann")
    assert (done.labels, done.added, done.there) == (2, 2, 0)
    assert (done.new_classes, done.unknown, done.skipped) == ((), (), {"rows without a label": 1})
    assert labels(project) == {"a/0.png": "cat", "a/1.png": "dog"}
    assert acts(project) == [("import", "ann", 0), ("import", "bob", 1)]


def test_importing_the_same_file_again_adds_nothing(project: Project, tmp_path: Path) -> None:
    table = write(tmp_path / "l.csv", "label,path\ncat,a/0.png\ndog,a/1.png\ncat,a/0.png\n")
    import_labels(project, table, "ann")
    before = state(project)
    done = import_labels(project, table, "ann")
    assert (done.added, done.there) == (0, 2)
    assert state(project) == before
    write(table, "label,path\ncat,a/0.png\ndog,a/1.png\ncat,b/0.png\n")  # and one more row adds one label
    assert import_labels(project, table, "ann").added == 1


def test_of_several_imports_the_last_one_counts_also_if_it_was_imported_before(
    project: Project, tmp_path: Path
) -> None:
    cat = write(tmp_path / "cat.csv", "path,label\na/0.png,cat\n")
    dog = write(tmp_path / "dog.csv", "path,label\na/0.png,dog\n")
    for file, label in ((cat, "cat"), (dog, "dog"), (cat, "cat"), (dog, "dog"), (cat, "cat")):
        done = import_labels(project, file, "ann")
        assert (done.added, done.there) == (1, 0)
        assert labels(project) == {"a/0.png": label}
    assert done.replaced == 1


def test_what_was_imported_and_taken_back_can_be_imported_again(project: Project, tmp_path: Path) -> None:
    table = write(tmp_path / "l.csv", "path,label\na/0.png,cat\na/1.png,dog\n")
    import_labels(project, table, "ann")
    for number in range(2):
        with Journal.open(project.labels_db, "ro") as journal:
            last = [one for one in journal.acts() if one.item == 0 and one.kind == "label"][-1]
        act(project, NewAct(f"undo-{number}", 0, "undo", "ann", "browse", undoes=last.uid))
        assert labels(project) == {"a/1.png": "dog"}
        done = import_labels(project, table, "ann")
        assert (done.added, done.there, done.replaced) == (1, 1, 0)
        assert labels(project) == {"a/0.png": "cat", "a/1.png": "dog"}


def test_what_a_person_said_here_is_not_said_again_by_an_import(project: Project, tmp_path: Path) -> None:
    act(project, say(0, 0, "ann"), say(1, 1, "ann"))
    table = write(tmp_path / "l.csv", "path,label\na/0.png,cat\na/1.png,cat\n")
    done = import_labels(project, table, "ann")
    assert (done.added, done.there, done.replaced) == (1, 1, 1)
    assert [why for why, _, _ in acts(project)] == ["rank", "rank", "import"]


def test_no_labeller_can_take_the_id_of_an_import_beforehand(project: Project, tmp_path: Path) -> None:
    table = write(tmp_path / "l.csv", "path,label\na/0.png,cat\na/1.png,dog\n")
    digest = hashlib.sha256(b"0\ncat\nann").hexdigest()[:32]  # of what the import says, as ids were once made
    act(project, say(3, 0, "eve", uid=f"import-{digest}"))
    assert import_labels(project, table, "ann").added == 2
    assert labels(project) == {"a/0.png": "cat", "a/1.png": "dog", "b/2.png": "cat"}
    with Journal.open(project.labels_db, "ro") as journal:
        first = {one.uid for one in journal.acts() if one.why == "import"}
    again = make_project(tmp_path / "again", tmp_path / "images")
    import_labels(again, table, "ann")
    with Journal.open(again.labels_db, "ro") as journal:
        assert first.isdisjoint(one.uid for one in journal.acts())  # nobody can know them before


def test_an_import_that_fails_halfway_leaves_neither_classes_nor_labels(project: Project, tmp_path: Path) -> None:
    table = write(tmp_path / "l.csv", "path,label\na/0.png,cat\na/1.png,cow\nb/0.png,owl\n")
    before = state(project)
    with Journal.open(project.labels_db) as journal:  # whatever is written last fails, as on a full disk
        journal._db.execute(
            "CREATE TRIGGER fail BEFORE INSERT ON acts WHEN NEW.item = 2 BEGIN SELECT RAISE(ABORT, 'x'); END"
        )
    with pytest.raises(StoreError, match=r"Cannot write 3 answers"):
        import_labels(project, table, "ann", add_classes=True)
    assert state(project) == before
    with Journal.open(project.labels_db) as journal:
        journal._db.execute("DROP TRIGGER fail")
    assert import_labels(project, table, "ann", add_classes=True).added == 3
    assert labels(project) == {"a/0.png": "cat", "a/1.png": "cow", "b/0.png": "owl"}


def test_what_people_say_here_goes_before_an_import(project: Project, tmp_path: Path) -> None:
    act(project, say(0, 1))
    import_labels(project, write(tmp_path / "l.csv", "path,label\na/0.png,cat\n"), "bob")
    assert labels(project) == {"a/0.png": "dog"}


def test_a_byte_order_mark_and_windows_line_ends_are_no_obstacle(project: Project, tmp_path: Path) -> None:
    table = write(tmp_path / "l.csv", "\ufeffPath , Label\r\na\\0.png, cat \r\n./a/1.png,dog\r\n")
    import_labels(project, table, "ann")
    assert labels(project) == {"a/0.png": "cat", "a/1.png": "dog"}


def test_paths_are_understood_with_folders_in_front_and_by_their_last_name(project: Project, tmp_path: Path) -> None:
    images = tmp_path / "images"
    paths = [f"{images}/a/0.png", "images/a/1.png", "/mnt/elsewhere/b/0.png", "2.png", "D:\\data\\top.png"]
    table = write(tmp_path / "l.csv", "path,label\n" + "".join(f"{path},cat\n" for path in paths))
    import_labels(project, table, "ann")
    assert sorted(labels(project)) == sorted(NAMES)


@pytest.mark.parametrize("path", ["c/1.png", "a/2.png", "missing.png", "0.png/", "A/0.png"])
def test_paths_of_no_item_are_named_and_refused_or_left_out(project: Project, tmp_path: Path, path: str) -> None:
    table = write(tmp_path / "l.csv", f"path,label\na/0.png,cat\n{path},dog\n")
    before = state(project)
    with pytest.raises(DataError, match=r"1 paths are of no item .*line 3.*--skip-unknown") as error:
        import_labels(project, table, "ann")
    assert path in str(error.value)
    assert state(project) == before
    done = import_labels(project, table, "ann", skip_unknown=True)
    assert (done.added, len(done.unknown)) == (1, 1)
    assert labels(project) == {"a/0.png": "cat"}


def test_thousands_of_unknown_paths_make_a_readable_message(project: Project, tmp_path: Path) -> None:
    table = write(tmp_path / "l.csv", "path,label\n" + "".join(f"no/{i}.png,cat\n" for i in range(5000)))
    with pytest.raises(DataError, match="5000 paths") as error:
        import_labels(project, table, "ann")
    assert "and 4980 more" in str(error.value)
    assert len(str(error.value)) < 2000


def test_a_last_name_that_several_images_have_is_refused(project: Project, tmp_path: Path) -> None:
    before = state(project)
    for skip_unknown in (False, True):
        with pytest.raises(DataError, match=r"line 2: '0.png' could be any of 'a/0.png', 'b/0.png'"):
            import_labels(
                project, write(tmp_path / "l.csv", "path,label\n0.png,cat\n"), "ann", skip_unknown=skip_unknown
            )
    assert state(project) == before


def test_new_classes_are_refused_by_name_or_added(project: Project, tmp_path: Path) -> None:
    table = write(tmp_path / "l.csv", "path,label\na/0.png,cat\na/1.png,cow\nb/0.png,<script>\n")
    before = state(project)
    with pytest.raises(DataError, match=r"'cow', '<script>'.*--add-classes"):
        import_labels(project, table, "ann")
    assert state(project) == before
    assert import_labels(project, table, "ann", add_classes=True).new_classes == ("cow", "<script>")
    assert labels(project)["b/0.png"] == "<script>"


def test_two_labels_by_one_person_for_one_image_are_refused(project: Project, tmp_path: Path) -> None:
    table = write(tmp_path / "l.csv", "path,label\na/0.png,cat\nimages/a/0.png,dog\n")
    with pytest.raises(DataError, match=r"line 3: 'ann' says 'dog' .* 'cat' on line 2"):
        import_labels(project, table, "ann")
    two = write(tmp_path / "two.csv", "path,label,annotator\na/0.png,cat,ann\na/0.png,dog,bob\n")
    assert import_labels(project, two, "x").added == 2  # two people may differ
    assert labels(project) == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"path,label\na/0.png,caf\xe9\n", "line 2: not UTF-8"),
        ("path,label\n".encode("utf-16"), "UTF-16"),
        (b"", "line 1: the columns are 'missing'"),
        (b"\n", "line 1"),
        (b"file,class\na/0.png,cat\n", "file, class"),
        (b"path;label\na/0.png;cat\n", "commas, not with ';'"),
        (b"path,label,label\na/0.png,cat,dog\n", "twice"),
        (b"path,label\na/0.png,cat,dog\n", "line 2: 3 cells"),
        (b"path,label\na/0.png,cat\n,dog\n", "line 3: there is a label, 'dog', but no path"),
        (b'path,label\na/0.png,"cat\n', "line 2: not a readable row"),
        (b"path,label\na/0.png,cat\x00\n", "line 2"),
        (b"path,label\na/0.png," + b"x" * 200_000 + b"\n", "line 2"),
        (b"path,label\na/0.png," + b"x" * 101 + b"\n", "line 2: .*too long a name"),
        (b"path,label,annotator\na/0.png,cat,\x1b[2J\n", "line 2: .*no name for a person"),
        (b"[{]", "line 1, column 3: not valid JSON"),
        (b'[\n {"data": {}},\n', "line 3, column 1: not valid JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" + b"1" * 5000 + b"]", "a number that is too long"),
        (b'[{"data": {"n": ' + b"[" * 900 + b"]" * 900 + b"}}]", "names no item"),
        (b"{}", 'task 1: it has no "data"'),
        (b'[{"image": "a/0.png", "label": "cat"}]', "not as JSON-MIN"),
        (b'[{"data": {"n": 3}}]', "names no item"),
        (b'[{"data": {"image": "a/0.png"}, "annotations": "none"}]', "no list of objects but 'none'"),
        (b'[{"data": {"image": "a/0.png"}, "annotations": [{"result": {"a": 1}}]}]', "task 1: .*no list"),
        (b'["a/0.png"]', "task 1"),
    ],
)
def test_bad_files_are_refused_with_the_place_and_nothing_is_written(
    project: Project, tmp_path: Path, content: bytes, message: str
) -> None:
    before = state(project)
    with pytest.raises(DataError, match=message) as error:
        import_labels(project, write(tmp_path / "file", content), "ann", add_classes=True, skip_unknown=True)
    assert str(tmp_path / "file") in str(error.value)
    assert len(str(error.value)) < 1000
    assert state(project) == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "line 2: not valid JSON"),
        (b"3", "line 2: not an object with a path"),
        (b'{"path": "a/0.png", "label": 3}', "line 2: label and annotator must be text, not 3 and None"),
        (b'{"path": "a/0.png", "label": ' + b"1" * 5000 + b"}", "line 2: JSON with a number that is too long"),
        (b"[" * 100_000, "line 2: JSON that is nested too deeply"),
        (b'{"path": "\\ud800", "label": "cat"}', r"1 paths are of no item .*ud800"),
    ],
)
def test_bad_lines_are_refused_with_their_number_and_nothing_is_written(
    project: Project, tmp_path: Path, line: bytes, message: str
) -> None:
    file = write(tmp_path / "l.jsonl", b'{"path": "a/0.png", "label": "cat"}\n' + line + b"\n")
    before = state(project)
    with pytest.raises(DataError, match=message):
        import_labels(project, file, "ann", add_classes=True)
    assert state(project) == before


def test_files_too_large_to_be_read_are_refused(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "LARGEST", 10)
    with pytest.raises(DataError, match="split it"):
        import_labels(project, write(tmp_path / "l.csv", "path,label\na/0.png,cat\n"), "ann")
    with pytest.raises(DataError, match="cannot be read"):
        import_labels(project, tmp_path / "missing.csv", "ann")
    with pytest.raises(DataError, match="cannot be read"):
        import_labels(project, tmp_path, "ann")


def test_whoever_imports_needs_a_name(project: Project, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no name for a person"):
        import_labels(project, write(tmp_path / "l.csv", "path,label\n"), " ")


def test_while_a_server_runs_an_import_says_who_holds_the_project(project: Project, tmp_path: Path) -> None:
    code = (
        "import sys; from deepbass.label.project import Project\n"
        "with Project.open(sys.argv[1]).lock(): print('held', flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", code, str(project.path)]
    table = write(tmp_path / "l.csv", "path,label\na/0.png,cat\n")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None and server.stdin is not None
        assert server.stdout.readline() == b"held\n"
        with pytest.raises(StoreError, match=f"in use by process {server.pid}"):
            import_labels(project, table, "ann")
        server.stdin.close()
        server.wait()
    assert import_labels(project, table, "ann").added == 1


def test_a_refused_import_frees_the_project(project: Project, tmp_path: Path) -> None:
    with pytest.raises(DataError):
        import_labels(project, write(tmp_path / "l.csv", "path,label\nx,cat\n"), "ann")
    assert import_labels(project, write(tmp_path / "l.csv", "path,label\na/0.png,cat\n"), "ann").added == 1


# Label Studio


def test_a_real_export_of_label_studio_is_understood(project: Project, tmp_path: Path) -> None:
    box = {"type": "rectanglelabels", "value": {"x": 1, "rectanglelabels": ["car"]}, "from_name": "b", "to_name": "img"}
    with_box = chosen("dog", who={"id": 3, "email": "bob@example.org", "first_name": ""})
    with_box["result"].insert(0, box)
    tasks = [
        task("/data/upload/1/42d46c4c-top.png", chosen("cat"), predictions=[{"result": []}], file_upload="42-top.png"),
        task("/data/local-files/?d=images/a/0.png", with_box),
        task("/data/local-files/?d=images%2Fa%2F1.png", chosen("cat", was_cancelled=True)),
        task("https://example.org/bucket/b/0.png?X-Amz=1", chosen("dog", who=None)),
        task("b/2.png", {**chosen("dog"), "result": [box]}),
        task("b/2.png"),
    ]
    done = import_labels(project, write(tmp_path / "tasks.json", json.dumps(tasks)), "ann")
    assert labels(project) == {"top.png": "cat", "a/0.png": "dog", "b/0.png": "dog"}
    assert [who for _, who, _ in acts(project)] == ["7", "bob@example.org", "ann"]
    assert done.skipped == {"cancelled or empty annotations": 2, "predictions": 1}


def test_of_one_persons_annotations_the_newest_counts_and_ground_truth_decides(
    project: Project, tmp_path: Path
) -> None:
    tasks = [
        task("a/0.png", chosen("dog", updated_at="2022-01-01T00:00:00Z"), chosen("cat")),
        task("a/1.png", chosen("cat", who=1), chosen("dog", who=2, ground_truth=True), chosen("cat", who=3)),
        task("b/0.png", chosen("cat", who=1), chosen("dog", who=2)),
    ]
    import_labels(project, write(tmp_path / "tasks.json", json.dumps(tasks)), "ann")
    assert labels(project) == {"a/0.png": "dog", "a/1.png": "dog"}  # about b/0.png they differ


def test_of_several_questions_the_one_named_label_is_meant(project: Project, tmp_path: Path) -> None:
    two = chosen("cat", name="label")
    two["result"] += chosen("blurred", name="quality")["result"]
    import_labels(project, write(tmp_path / "1.json", json.dumps([task("a/0.png", two)])), "ann")
    assert labels(project) == {"a/0.png": "cat"}
    two["result"][0]["from_name"] = "animal"
    with pytest.raises(DataError, match=r"task 1: .*animal, quality"):
        import_labels(project, write(tmp_path / "2.json", json.dumps([task("a/1.png", two)])), "ann")
    with pytest.raises(DataError, match="one class here"):
        import_labels(project, write(tmp_path / "3.json", json.dumps([task("a/1.png", chosen("cat", "dog"))])), "ann")


def test_one_task_alone_and_old_completions_are_read(project: Project, tmp_path: Path) -> None:
    old = {"id": 1, "data": {"img": "a/0.png"}, "completions": [chosen("cat")]}
    import_labels(project, write(tmp_path / "1.json", json.dumps(old)), "ann")
    assert labels(project) == {"a/0.png": "cat"}


# there and back


@pytest.mark.parametrize("format_", ["csv", "jsonl", "label-studio"])
def test_what_is_exported_and_imported_elsewhere_gives_the_same_labels(tmp_path: Path, format_: str) -> None:
    names = [
        "=cmd.png",
        "a,b/x.png",
        'q"q.png',
        "new\nline/x.png",
        "ünï.png",
        " blank.png",
        "#?&%41.png",
        "x.png",
        "y.png",
    ]
    source = make_images(tmp_path / "images", names)
    project = make_project(tmp_path / "one", source, ODD)
    ids = {row.name: row.id for row in _items(project)}
    act(
        project,
        *[say(ids[name], class_, f"person {class_}") for class_, name in enumerate(names[:8])],
        say(ids["x.png"], 3, "bob"),  # they differ, and it is settled
        other("settle", ids["x.png"], "cem", class_=5),
        other("skip", ids["y.png"]),
        other("unsure", ids["y.png"], "bob"),
    )
    with begin_model(project, ODD) as run:
        commit(run, 0, make_ranking([0] * len(names)))
    out = tmp_path / ("out.jsonl" if format_ == "jsonl" else "out")
    export(project, format_, out, guesses=0.0)
    again = make_project(tmp_path / "two", source)
    done = import_labels(again, out, "importer", add_classes=True)
    assert labels(again) == labels(project)
    assert len(labels(again)) == 8
    assert done.added == 8
    assert "person 0" in {who for _, who, _ in acts(again)}
    before = state(again)
    assert import_labels(again, out, "importer").added == 0
    assert state(again) == before


def test_what_the_model_labelled_itself_does_not_come_back_as_a_persons_word(project: Project, tmp_path: Path) -> None:
    with begin_model(project) as run:
        commit(run, 0, make_ranking([0] * 5))
    for format_, file in (("csv", "l.csv"), ("jsonl", "l.jsonl"), ("label-studio", "l.json")):
        assert export(project, format_, tmp_path / file, guesses=0.5).guesses == 5
        done = import_labels(project, tmp_path / file, "ann")
        assert (done.labels, sum(done.skipped.values())) == (0, 5)
    assert acts(project) == []


def _items(project: Project) -> list[Any]:
    with Journal.open(project.labels_db, "ro") as journal:
        return journal.items()
