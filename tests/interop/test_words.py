"""Messages in the words of R: every text that the package can raise, and some by hand."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from relbounds.interop.words import in_r

PACKAGE = Path(__file__).resolve().parents[2] / "relbounds"
# an R user sees none of these rooms: they are for the command line, scikit-learn, rpy2
ELSEWHERE = {"cli.py", "sklearn.py", "__main__.py"}


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (
            "None of 500 permuted features could be replaced.",
            "None of 500 permuted features could be replaced.",
        ),
        ("progress=True is not None.", "progress = TRUE is not NULL."),
        ("'None' is a level; True is not.", "'None' is a level; TRUE is not."),
        ("Run fit.groups(k=3) or rb.svor(...).", "Run groups(fit, k = 3) or svor(...)."),
        ("x == 3 and x >= 2 stay", "x == 3 and x >= 2 stay"),
        (
            "It needs docx: pip install 'relbounds[word]'.",
            'It needs docx: install_relbounds(extras = "word").',
        ),
        ("give a DataFrame", "give a data frame"),
    ],
)
def test_some_by_hand(said: str, read: str) -> None:
    assert in_r(said) == read


def texts() -> list[str]:
    """Return the texts of every error that is raised and every warning that is given; what is computed is '0'."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name in ELSEWHERE or "interop" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                found.append(_text(node.exc.args[0]))
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "warn" and node.args:
                found.append(_text(node.args[0]))
    return [text for text in found if text]


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(v.value if isinstance(v, ast.Constant) else "0" for v in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return ""


def test_no_message_speaks_python() -> None:
    found = texts()
    assert len(found) > 100
    python = re.compile(
        r"(?<!')\b(?:True|False)\b(?!')|\bpip install\b|\brb\.|\bfit\.[a-z_]+\(|\bDataFrame\b|\bNone\b(?! of)"
    )
    odd = [text for text in map(in_r, found) if python.search(re.sub(r"'[^'\n]*'|\"[^\"\n]*\"", "", text))]
    assert not [text for text in odd if ".parquet" not in text], odd  # read by the command line only
