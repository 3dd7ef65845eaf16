#!/usr/bin/env bash
# Builds the R package, installs it into a library of its own and runs R CMD check with the tests;
# fails on any error or warning. Where R is absent it says so in one line and succeeds.
set -euo pipefail
here="$(cd "$(dirname "$0")/.." && pwd)"
root="$(cd "$here/.." && pwd)"

if ! command -v R >/dev/null; then
  echo "The R part is skipped: R is not installed."
  exit 0
fi
for package in reticulate testthat knitr rmarkdown; do
  if ! Rscript -e "quit(status = !requireNamespace('$package', quietly = TRUE))" >/dev/null 2>&1; then
    echo "The R part is skipped: the R package $package is not installed."
    exit 0
  fi
done

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/library"
export RETICULATE_PYTHON="${RETICULATE_PYTHON:-$root/.venv/bin/python}"
export R_LIBS="$work/library${R_LIBS:+:$R_LIBS}"
export _R_CHECK_FORCE_SUGGESTS_=false
export _R_CHECK_SYSTEM_CLOCK_=0
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# With this set, a test that would be skipped for want of Python is an error.
export RELBOUNDS_REQUIRE_PYTHON=1

# What is checked is what would be given to others: a copy of the sources with the wheel in it.
cp -r "$here" "$work/r-package"
PYTHON="$RETICULATE_PYTHON" bash "$here/tools/wheel.sh"
mkdir -p "$work/r-package/inst/python"
cp "$here"/inst/python/*.whl "$work/r-package/inst/python/" 2>/dev/null || true
here="$work/r-package"
cd "$work"
# Vignettes call the package they describe, so it is installed before they are built.
R CMD INSTALL --no-docs --library="$work/library" "$here" >"$work/install.log" 2>&1 || { cat "$work/install.log"; exit 1; }
R CMD build "$here" >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
# What is given away carries the wheel of the Python side: it needs nothing else of the repository.
tar tzf relbounds_*.tar.gz >"$work/contents"
if ls "$here"/inst/python/*.whl >/dev/null 2>&1 && ! grep -q 'inst/python/.*[.]whl$' "$work/contents"; then
  echo "The source package does not hold the wheel of the Python side."
  exit 1
fi
R CMD check --no-manual relbounds_*.tar.gz >"$work/check.log" 2>&1 || true
cat "$work/check.log"
if ! grep -q '^Status:' "$work/check.log" || grep -E '^Status:.*(ERROR|WARNING)' "$work/check.log"; then
  find "$work"/relbounds.Rcheck -name '*.Rout.fail' -exec cat {} +
  find "$work"/relbounds.Rcheck -name '00install.out' -exec tail -20 {} +
  exit 1
fi
tail -12 "$work"/relbounds.Rcheck/tests/testthat.Rout
