"""Installs the oldest versions that pyproject.toml allows and runs the tests with them: ``make test-oldest``.

    python tests/oldest.py ENVIRONMENT [arguments of pytest]

The environment is made with the Python that runs this, which should be the oldest one that is promised (3.11).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Extras whose lower bounds are promises to users; the others are tools.
EXTRAS = ("dask", "explorer", "fast", "forest", "highs", "sklearn", "word")
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "pyarrow==15.0", "selenium")


def oldest(project: dict) -> list[str]:
    """Return every requirement at its lower bound; of two bounds for one package the higher one."""
    found: dict[str, str] = {}
    optional = project["optional-dependencies"]
    for line in [*project["dependencies"], *(line for extra in EXTRAS for line in optional[extra])]:
        name, bound = re.fullmatch(r"([\w-]+(?:\[[\w,]+\])?)>=([\d.]+)", line).groups()
        if name not in found or _key(bound) > _key(found[name]):
            found[name] = bound
    return [f"{name}=={bound}" for name, bound in found.items()]


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def main() -> int:
    """Make the environment where it is not there yet, and run pytest in it."""
    home, *arguments = sys.argv[1:]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    python = Path(home) / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
    wanted = oldest(project)
    print("\n".join(wanted), flush=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *TOOLS, *wanted], check=True)
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-deps", "--editable", str(ROOT)], check=True
    )
    return subprocess.run(
        [python, "-m", "pytest", "-q", *arguments], cwd=ROOT, env={**os.environ, "MPLBACKEND": "Agg"}
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
