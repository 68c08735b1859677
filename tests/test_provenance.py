"""Where a result comes from: the device and the line that ends a chapter."""

import os
import re
import shutil
import subprocess
from importlib.metadata import version

import pytest
import torch

from lib import provenance


@pytest.fixture(autouse=True)
def tried_anew():
    provenance._gpu_trouble.cache_clear()
    yield
    provenance._gpu_trouble.cache_clear()


@pytest.mark.parametrize(
    "asked, gpu, found",
    [("auto", True, "cuda"), ("auto", False, "cpu"), ("cuda", True, "cuda"), ("cpu", True, "cpu")],
)
def test_resolve_device_takes_what_is_there(monkeypatch, asked, gpu, found):
    ones = torch.ones
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu)
    monkeypatch.setattr("torch.ones", lambda *size, device: ones(*size))
    assert provenance.resolve_device(asked) == found


def test_a_broken_gpu_is_tried_once_and_named(monkeypatch, capsys):
    def fail(*size, device):
        raise RuntimeError("no kernel image is available\nfor execution on the device")

    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.ones", fail)
    assert [provenance.resolve_device("auto") for _ in range(2)] == ["cpu", "cpu"]
    assert (
        capsys.readouterr().out
        == "torch cannot use the GPU (no kernel image is available): device 'auto' is the CPU\n"
    )
    with pytest.raises(ValueError, match="no kernel image is available"):
        provenance.resolve_device("cuda")


@pytest.mark.parametrize(
    "device, said",
    [
        ("cuda", "sees no GPU here; use 'auto' or 'cpu'"),
        ("cuda:0", "device is 'cuda:0': want one of auto, cpu, cuda"),
    ],
)
def test_resolve_device_refuses_what_is_not_there(monkeypatch, device, said):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ValueError, match=said):
        provenance.resolve_device(device)


def test_stamp_prints_one_line_with_settings_and_versions(monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    provenance.stamp("quick", "auto", 7)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(
        "profile quick, device cpu, seed 7; "
    )  # the device that was used, not "auto"
    for package in ("torch", "numpy", "scipy"):
        assert f"{package} {version(package)}" in line


def test_a_commit_is_that_of_the_folder(tmp_path, monkeypatch):
    """Git names in `GIT_DIR` the repository of the hook that it runs."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost"]
    for name in ("ours", "hook"):
        (root := tmp_path / name).mkdir()
        subprocess.run([*git, "init", "-q"], cwd=root, check=True)
        commit = ["commit", "-q", "--allow-empty", "-m", name]
        subprocess.run([*git, *commit], cwd=root, check=True)
    found = provenance.commit(tmp_path / "ours")
    provenance.commit.cache_clear()
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "hook" / ".git"))
    assert provenance.commit(tmp_path / "ours") == found != provenance.commit(tmp_path / "hook")
    provenance.commit.cache_clear()


def test_a_git_that_complains_in_another_encoding_stops_nothing(tmp_path, monkeypatch):
    """As of a folder that is somebody else's, in the words of the reader's language."""
    (tmp_path / ".git").mkdir()
    (git := tmp_path / "git").write_text("#!/bin/sh\nprintf '\\351\\377' >&2\nexit 128\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert provenance.commit(tmp_path) == ""


def test_an_old_git_names_a_commit_by_its_hash(tmp_path, monkeypatch):
    """Before version 2.13 it knew no `--exclude`."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost"]
    for more in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "a"],
        ["tag", "-am", "b", "v1"],
    ):
        subprocess.run([*git, *more], cwd=tmp_path, check=True)
    (bin := tmp_path / "bin").mkdir()
    real = shutil.which("git")
    (bin / "git").write_text(
        f'#!/bin/sh\ncase "$*" in *--exclude*) exit 129;; esac\nexec {real} "$@"\n'
    )
    (bin / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin}{os.pathsep}{os.environ['PATH']}")
    assert re.fullmatch("[0-9a-f]{40}", provenance.commit(tmp_path))
