"""The R package of this repository in a library of its own."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def install_r_package(library: Path) -> "subprocess.CompletedProcess[str]":
    """Install the package into a library, without its documentation, and return how that went."""
    call = [
        "R",
        "CMD",
        "INSTALL",
        "--no-docs",
        "--no-test-load",
        f"--library={library}",
        str(ROOT / "r-package"),
    ]
    return subprocess.run(call, capture_output=True, text=True, check=False)
