#!/usr/bin/env bash
# Installs R and the packages the tests use, where apt-get and root allow it; says so in one line where they do not.
set -euo pipefail
packages="r-base-dev r-cran-reticulate r-cran-testthat r-cran-knitr r-cran-rmarkdown r-cran-ggplot2 r-cran-generics
  r-cran-broom r-cran-caret r-cran-emmeans r-cran-formula r-cran-insight r-cran-mass r-cran-mice r-cran-mitml
  r-cran-ordinal r-cran-parameters r-cran-roxygen2 r-cran-sjplot r-cran-survival r-cran-xtable pandoc qpdf"
missing=""
for package in $packages; do
  dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "The R part is skipped: installing$missing needs apt-get and root."
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends $missing >/dev/null
