"""Where a result comes from: the device and the line that ends a chapter."""

import sys
from importlib.metadata import version

import pytest

from lib import provenance


@pytest.mark.parametrize(
    "asked, gpu, found", [("auto", True, "cuda"), ("auto", False, "cpu"), ("cuda", True, "cuda"), ("cpu", True, "cpu")]
)
def test_resolve_device_takes_what_is_there(monkeypatch, asked, gpu, found):
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu)
    assert provenance.resolve_device(asked) == found


def test_resolve_device_needs_no_torch_for_the_cpu(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # an import would fail
    assert provenance.resolve_device("cpu") == "cpu"


def test_resolve_device_refuses_a_gpu_that_is_not_there(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ValueError, match="sees no GPU here; use 'auto' or 'cpu'"):
        provenance.resolve_device("cuda")


@pytest.mark.parametrize("device", ["", "gpu", "CPU", "cuda:0", "mps"])
def test_resolve_device_refuses_what_it_does_not_know(device):
    with pytest.raises(ValueError, match=f"device is '{device}': want one of auto, cpu, cuda"):
        provenance.resolve_device(device)


def test_stamp_prints_one_line_with_settings_and_versions(monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    provenance.stamp("quick", "auto", 7)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("profile quick, device cpu, seed 7; ")  # the device that was used, not "auto"
    for package in ("torch", "numpy", "scipy"):
        assert f"{package} {version(package)}" in line
