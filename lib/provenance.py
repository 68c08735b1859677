"""Where a result comes from: the line that ends every executed chapter."""

from importlib.metadata import version

PROFILES = ("quick", "paper")


def resolve_device(device: str) -> str:
    """Turn "auto" into "cuda" where torch sees a GPU and into "cpu" elsewhere; leave "cpu" and "cuda" as they are.

    Raises
    ------
    ValueError
        If the device is unknown, or "cuda" is asked for where there is none.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device {device!r}: want auto, cpu or cuda")
    if device == "cpu":
        return device
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if device == "cuda":
        raise ValueError("device 'cuda': torch sees no GPU here; use 'auto' or 'cpu'")
    return "cpu"


def stamp(profile: str, device: str, seed: int) -> None:
    """Print profile, device, seed and the versions that a result may depend on."""
    print(f"profile {profile}, device {resolve_device(device)}, seed {seed}; {versions()}")


def versions() -> str:
    """Name the packages that a number may depend on, with their versions."""
    return ", ".join(f"{package} {version(package)}" for package in ("torch", "numpy", "scipy"))
