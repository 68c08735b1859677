"""Files that are whole or not there: what is written replaces
what was there, and what is spoilt is removed.
"""

import json
from pathlib import Path

import pytest

from lib import files


@pytest.mark.parametrize("content", ["Δ = 1\n", b"\xff\x00"])
def test_what_is_written_replaces_what_was_there(tmp_path, content):
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
    assert (
        list(tmp_path.iterdir()) == [tmp_path / "file"]
        and (tmp_path / "file").read_text() == "before"
    )


def test_a_spoilt_file_is_removed(tmp_path, capsys):
    path = tmp_path / "kept.json"
    assert files.kept(path, json.loads) is None and capsys.readouterr().err == ""
    files.write(path, "[1]")
    assert files.kept(path, json.loads) == [1]
    files.write(path, "[1")
    assert files.kept(path, json.loads) is None and not path.exists()
    said = capsys.readouterr().err
    assert said.startswith(f"{path} cannot be used (") and said.endswith("): computed anew\n")
