"""What a release says of itself in several files is the same in all of them."""

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
from pathlib import Path

import pytest

import relbounds as rb
from relbounds.show import citations

ROOT = Path(__file__).resolve().parent.parent


def read(name):
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"{name} is not part of this distribution")
    return path.read_text(encoding="utf-8")


def test_one_version():
    found = {
        "CITATION.cff": re.search(r"^version: (\S+)$", read("CITATION.cff"), re.M)[1],
        "codemeta.json": json.loads(read("codemeta.json"))["version"],
        "DESCRIPTION": re.search(r"^Version: (\S+)$", read("r-package/DESCRIPTION"), re.M)[1],
        "CHANGELOG.md": re.search(r"^## (\S+)$", read("CHANGELOG.md"), re.M)[1],
    }
    assert found == dict.fromkeys(found, rb.__version__)


def test_requirements_of_codemeta_are_those_of_the_project():
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert json.loads(read("codemeta.json"))["softwareRequirements"] == project["dependencies"]


@pytest.mark.parametrize("paper", [*citations.PAPERS, citations.SEQUENTIAL], ids=lambda paper: paper.key)
@pytest.mark.parametrize("name", ["CITATION.cff", "paper/paper.bib"])
def test_papers_are_cited(name, paper):
    text = " ".join(read(name).split())
    assert paper.title in text and str(paper.year) in text
    assert paper.doi in text


def test_every_citation_of_the_paper_is_in_its_bibliography():
    keys = set(re.findall(r"@([a-z]+\d{4}[a-z]+|relbounds)\b", read("paper/paper.md")))
    assert keys and keys <= set(re.findall(r"^@\w+\{(\w+),", read("paper/paper.bib"), re.M))


def test_workflows_run_the_versions_of_the_classifiers():
    classifiers = tomllib.loads(read("pyproject.toml"))["project"]["classifiers"]
    promised = re.findall(r":: (3\.\d+)$", "\n".join(classifiers), re.M)
    run = re.search(r"python-version: \[(.*)\]", read(".github/workflows/tests.yml"))[1]
    assert promised == re.findall(r"3\.\d+", run)


def test_every_extra_for_users_is_explained():
    optional = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    listed = re.findall(r"^\| `(\w+)` \|", read("docs/start/install.md"), re.M)
    assert sorted(listed) == sorted(set(optional) - {"bench", "docs", "test"})


# -- what would be given to others -------------------------------------------------------------------------

# Run in an environment that has the wheel and nothing of the repository.
ALONE = """
import importlib.metadata, pathlib, sys
import relbounds as rb
home = pathlib.Path(rb.__file__).parent
assert home.is_relative_to(sys.prefix), home
assert (home / "py.typed").exists()
files = [str(f) for f in importlib.metadata.files("relbounds")]
assert any(f.endswith("licenses/LICENSE") for f in files), files
assert not any(f.startswith(("tests", "docs", "benchmarks")) for f in files), files
for name in rb.datasets.__all__:
    assert len(getattr(rb.datasets, name)()) > 50, name
print("alone", rb.__version__)
"""


def quickstart():
    """Return the first Python of the site's front page, as a reader would copy it."""
    return re.search(r"^```\{python quickstart\}\n(.*?)^```$", read("docs/index.Rmd"), re.S | re.M)[1]


def run(*command, where):
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    environment |= {"MPLBACKEND": "Agg", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return subprocess.run(
        [str(part) for part in command], cwd=where, env=environment, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """Build the wheel from the sdist, without a network."""
    for name in ("build", "hatchling", "twine"):
        pytest.importorskip(name)
    read("docs/index.Rmd")
    folder = tmp_path_factory.mktemp("dist")
    done = run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, where=folder)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder


def test_wheel_and_sdist_pass_twine(dist):
    files = sorted(dist.iterdir())
    assert [f.suffix for f in files] == [".whl", ".gz"]
    done = run(sys.executable, "-m", "twine", "check", "--strict", *files, where=dist)
    assert done.returncode == 0, done.stdout


def test_sdist_holds_what_its_tests_need_and_nothing_built(dist):
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    for wanted in ("LICENSE", "README.md", "pyproject.toml", "relbounds/py.typed", "tests/conftest.py"):
        assert wanted in names
    assert not [n for n in names if "__pycache__" in n or n.startswith(("build/", "docs/_build"))]


def test_quickstart_in_an_empty_environment(dist, tmp_path):
    home = tmp_path / "empty"
    venv.create(home, with_pip=True)
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    wheel, sdist = next(dist.glob("*.whl")), next(dist.glob("*.tar.gz"))
    done = run(python, "-m", "pip", "install", "--quiet", wheel, where=tmp_path)
    if done.returncode and re.search(r"(?i)connection|no matching distribution|resolve", done.stderr):
        pytest.skip("Without a package index the wheel's requirements cannot be installed.")
    assert done.returncode == 0, done.stderr[-2000:]
    done = run(python, "-c", ALONE, where=tmp_path)
    assert done.stdout == f"alone {rb.__version__}\n", done.stderr
    done = run(python, "-c", quickstart(), where=tmp_path)
    assert done.returncode == 0 and "Relevance bounds" in done.stdout, done.stderr
    done = run(python.with_name("relbounds"), "--version", where=tmp_path)
    assert done.stdout == f"relbounds {rb.__version__}\n", done.stderr
    # the sdist too, over the wheel: the same files come of it
    done = run(
        python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", sdist, where=tmp_path
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert run(python, "-c", ALONE, where=tmp_path).stdout == f"alone {rb.__version__}\n"
