"""What a killed writer has left: removed when it is old, and by nobody twice."""

import os
import time
from pathlib import Path

from lib.files import remove_abandoned


def test_only_what_is_old_and_matches_is_removed(tmp_path):
    for name in ("old", "new", "kept"):
        (tmp_path / f"{name}.half").write_bytes(b"half")
    (tmp_path / "folder.half").mkdir()
    (tmp_path / "folder.half" / "file").touch()
    (tmp_path / "kept.half").rename(tmp_path / "kept.nc")
    for name in ("old.half", "folder.half", "kept.nc"):
        os.utime(tmp_path / name, 2 * (time.time() - 3700,))
    remove_abandoned(tmp_path, "*.half")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.nc", "new.half"]
    remove_abandoned(tmp_path / "nowhere", "*")


def test_a_file_that_is_gone_in_the_meantime_is_no_error(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "glob", lambda folder, pattern: [folder / "gone"])
    remove_abandoned(tmp_path, "*")
