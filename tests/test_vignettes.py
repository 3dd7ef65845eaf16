"""One vignette rendered from beginning to end; every vignette checked for what can be read without running it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
VIGNETTES = sorted((ROOT / "vignettes").glob("*.Rmd"))


def test_the_vignettes_are_there():
    assert [v.stem for v in VIGNETTES] == [
        "beyond-the-line",
        "clinical-analysis",
        "fairness-audit",
        "ordinal-outcomes",
        "privileged-information",
        "substitutes-and-costs",
        "tables-and-figures",
        "which-variables-matter",
    ]


@pytest.mark.parametrize("path", VIGNETTES, ids=lambda p: p.stem)
def test_vignettes_show_both_languages_and_their_limits(path):
    text = path.read_text()
    assert "```{python" in text and re.search(r"```\{r\}\nlibrary\(relbounds\)", text)
    assert "## Limits" in text


@pytest.mark.parametrize("path", VIGNETTES, ids=lambda p: p.stem)
def test_python_chunks_are_valid_python(path):
    chunks = re.findall(r"```\{python[^}]*\}\n(.*?)```", path.read_text(), flags=re.S)
    assert chunks
    for chunk in chunks:
        compile(chunk, path.name, "exec")


def test_a_vignette_renders():
    needed = (
        "quit(status = !all(sapply(c('rmarkdown', 'knitr', 'reticulate'), requireNamespace, quietly = TRUE)))"
    )
    rscript = shutil.which("Rscript")
    if rscript is None or subprocess.run([rscript, "-e", needed], capture_output=True).returncode:
        pytest.skip("R with rmarkdown, knitr and reticulate is not installed")
    done = subprocess.run(
        [rscript, str(ROOT / "vignettes" / "render.R"), "tables-and-figures"],
        capture_output=True,
        text=True,
        env={**os.environ, "RETICULATE_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-1000:]
    page = (ROOT / "build" / "vignettes" / "tables-and-figures.html").read_text()
    page = " ".join(page.split())  # pandoc breaks lines where it likes
    assert "The relevance of 10 terms for the binary response" in page and "area_se" in page
    assert "`r " not in page
