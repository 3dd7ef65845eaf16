"""What a release says of itself in several files is the same in all of them."""

import json
import re
import tomllib
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
