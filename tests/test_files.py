"""Files that are whole or not there: what a killed writer has left is removed when it is old, and by nobody twice."""

import json
import os
import time
from pathlib import Path

import pytest

from lib import files


def age(path):
    os.utime(path, 2 * (time.time() - 3700,))


@pytest.mark.parametrize("content", ["Δ = 1\n", b"\xff\x00"])
def test_what_is_written_replaces_what_was_there_and_leaves_nothing_else(tmp_path, content):
    path = tmp_path / "new" / "folder" / "file"
    for each in ("before", content):
        files.write(path, each)
    assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode())
    assert list(path.parent.iterdir()) == [path]


def test_a_write_that_fails_keeps_the_file_and_leaves_nothing(tmp_path, monkeypatch):
    write = Path.write_bytes

    def full(path, data):
        write(path, data[:2])
        raise OSError("no space left on device")

    files.write(tmp_path / "file", "before")
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="no space"):
        files.write(tmp_path / "file", "after")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"] and (tmp_path / "file").read_text() == "before"


def test_a_writer_removes_what_killed_ones_have_left_in_its_folder(tmp_path):
    old, new, unnumbered = tmp_path / ".a.1.partial", tmp_path / ".b.2.partial", tmp_path / "notebook.ipynb"
    for path in (old, new, unnumbered):
        path.write_bytes(b"half")
    age(old)
    age(unnumbered)
    files.write(tmp_path / "file", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".b.2.partial", "file", "notebook.ipynb"]


def test_what_is_kept_is_read_and_what_is_spoilt_is_removed(tmp_path, capsys):
    path = tmp_path / "kept.json"
    assert files.kept(path, json.loads) is None and capsys.readouterr().err == ""
    files.write(path, "[1]")
    assert files.kept(path, json.loads) == [1]
    files.write(path, "[1")
    assert files.kept(path, json.loads) is None and not path.exists()
    said = capsys.readouterr().err
    assert said.startswith(f"{path} cannot be used (") and said.endswith("): computed anew\n")
