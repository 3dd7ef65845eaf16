#!/usr/bin/env bash
# Writes NAMESPACE and man/ from the roxygen comments.
set -euo pipefail
here="$(cd "$(dirname "$0")/.." && pwd)"
library="$(mktemp -d)"
trap 'rm -rf "$library"' EXIT
export R_LIBS="$library${R_LIBS:+:$R_LIBS}"
R CMD INSTALL --no-docs --library="$library" "$here" >/dev/null
Rscript -e "roxygen2::roxygenise('$here', load_code = 'installed')"
