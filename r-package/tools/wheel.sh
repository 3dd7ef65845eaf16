#!/usr/bin/env bash
# Builds the wheel of the Python package into inst/python, so that a built R package carries what computes for it.
# Says so in one line where it cannot be built; install_relbounds() then asks the package index.
set -euo pipefail
here="$(cd "$(dirname "$0")/.." && pwd)"
root="$(cd "$here/.." && pwd)"
python="${PYTHON:-$root/.venv/bin/python}"
[ -x "$python" ] || python="$(command -v python3)"
rm -f "$here"/inst/python/*.whl
mkdir -p "$here/inst/python"
build="$(mktemp -d)"
trap 'rm -rf "$build"' EXIT
# From a copy of what belongs to the package: nothing is written into the sources.
cp -r "$root/pyproject.toml" "$root/README.md" "$root/LICENSE" "$root/relbounds" "$build/"
find "$build" -name __pycache__ -prune -exec rm -rf {} +
# Without a network the build backend must be there already.
isolation=""
if "$python" -c "import hatchling" 2>/dev/null; then isolation="--no-build-isolation"; fi
if "$python" -m pip wheel --quiet --disable-pip-version-check --no-deps $isolation --wheel-dir "$here/inst/python" "$build" >"$build/log" 2>&1; then
  echo "Wheel: $(basename "$here"/inst/python/*.whl)"
else
  echo "The wheel of the Python package was not built: $(tail -1 "$build/log")"
fi
