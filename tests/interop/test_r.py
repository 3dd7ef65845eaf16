"""R objects in, R objects out, through rpy2 and the R package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from r_library import install_r_package

import relbounds as rb
from relbounds.errors import MissingExtraError, RelboundsError
from relbounds.interop import bridge, plain
from relbounds.interop import r as interop

ROOT = Path(__file__).resolve().parents[2]
FORMULA = "severity ~ age + stiffness + crp + esr + sex"
# nothing to tune or to resample keeps these tests quick
QUICK: dict[str, Any] = {"delta": 0.01, "order": "explicit"}
pytestmark = pytest.mark.filterwarnings("ignore::relbounds.errors.RelboundsWarning")
NUMBERS = ["weight", "lower", "upper", "signed_lower", "signed_upper", "p_noise", "p_adjusted"]


@pytest.fixture(scope="module")
def ro(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Give rpy2.robjects in a process whose R has the package of this repository."""
    if shutil.which("R") is None:
        pytest.skip("R is not installed, so nothing can be tried through rpy2.")
    pytest.importorskip("rpy2", reason="rpy2 is not installed: pip install 'relbounds[r]'.")
    library = tmp_path_factory.mktemp("library")
    done = install_r_package(library)
    assert done.returncode == 0, done.stderr
    import rpy2.robjects as robjects

    robjects.r(f".libPaths(c('{library}', .libPaths()))")
    return robjects


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    return rb.datasets.load_severity()


@pytest.fixture(scope="module")
def fit(ro: Any, data: pd.DataFrame) -> interop.RFit:
    frame = ro.r("relbounds::severity")
    return interop.relbounds(ro.Formula(FORMULA), frame, C=1.0, **QUICK)


def test_the_same_table_by_either_language(fit: interop.RFit, data: pd.DataFrame) -> None:
    ours = rb.relbounds(FORMULA, data, C=1.0, **QUICK)
    assert np.abs(fit.table[NUMBERS].to_numpy() - ours.table[NUMBERS].to_numpy()).max() < 1e-10
    assert fit.table["relevance"].tolist() == ours.table["relevance"].tolist()
    assert fit.design.levels == ours.design.levels
    assert list(fit.table.index) == list(ours.table.index)


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("severity ~ stiffness + site", {}),
        ("severity ~ stiffness + age:site", {}),
        ("severity ~ stiffness + site | adjust(age, sex)", {}),
        ("severity ~ stiffness + crp", {"cluster": "patient"}),
        ("severity ~ stiffness + site", {"frequency": "count"}),
        ("severity ~ stiffness + crp", {"weights": "importance"}),
        ("site ~ stiffness + crp", {"family": "nominal"}),
        ("Surv(time, event) ~ stiffness + sex", {}),
        ("bmi ~ stiffness + site", {}),
        ("severity ~ stiffness | priv(biopsy)", {"privileged": "teacher"}),
    ],
    ids=[
        "factor",
        "number by factor",
        "adjust",
        "cluster",
        "frequency",
        "weights",
        "nominal",
        "survival",
        "regression",
        "teacher",
    ],
)
def test_the_same_table_for_every_kind_of_data(
    ro: Any, data: pd.DataFrame, formula: str, options: dict[str, Any]
) -> None:
    small = data.head(90).reset_index(drop=True)
    rows = np.arange(90)
    small = small.assign(
        site=pd.Categorical(np.array(["A", "B", "C", "B", "A"])[rows % 5]),
        patient=rows // 3,
        count=1 + rows % 2,
        importance=1.0 + (rows % 4) / 4,
        time=small["age"] + rows % 7,
        event=(rows % 3 > 0).astype(int),
    )
    # the same grid of one C on both sides; epsilon is asked for by numbers only
    settings = {"C": 1.0, **QUICK, **options} | ({"epsilon": 0.1} if formula.startswith("bmi") else {})
    ours = rb.relbounds(formula, small, **settings)
    theirs = interop.relbounds(formula, small, **settings)
    assert list(theirs.table.index) == list(ours.table.index)
    assert theirs.design.family == ours.design.family
    difference = theirs.table[NUMBERS].to_numpy(dtype=float) - ours.table[NUMBERS].to_numpy(dtype=float)
    assert np.nanmax(np.abs(difference)) < 1e-8
    assert theirs.table["relevance"].tolist() == ours.table["relevance"].tolist()


def test_formulas_have_r_meaning(ro: Any) -> None:
    frame = ro.r("head(relbounds::severity, 100)")
    found = interop.relbounds(
        ro.Formula("severity ~ I(age^2) + poly(stiffness, 2) + log(crp) | priv(biopsy)"),
        frame,
        C=1.0,
        **QUICK,
        privileged="teacher",
    )
    names = [
        "I(age^2)",
        "poly(stiffness, 2)",
        "poly(stiffness, 2)1",
        "poly(stiffness, 2)2",
        "log(crp)",
        "biopsy",
    ]
    assert list(found.table.index) == names
    assert found.table["part"].tolist() == ["regular"] * 5 + ["privileged"]
    some = ro.r("relbounds::severity[3:5, ]")
    assert np.allclose(found.decision_function(some), found.decision_function()[2:5])


def test_missing_values_and_ordered_factors(ro: Any) -> None:
    frame = ro.r(
        "local({d <- head(relbounds::severity, 100); d$age[3] <- NA; "
        "d$severity <- factor(d$severity, levels = rev(levels(d$severity)), ordered = TRUE); d})"
    )
    found = interop.relbounds("severity ~ age + stiffness", frame, C=1.0, **QUICK)
    assert len(found.design.y) == 99
    assert found.design.levels == ("severe", "moderate", "mild", "none")
    assert found.predict(frame).isna().tolist() == [i == 2 for i in range(100)]
    with pytest.raises(RelboundsError, match="missing values"):
        interop.relbounds("severity ~ age + stiffness", frame, missing="raise")
    with pytest.raises(RelboundsError, match="missing='keep'"):
        interop.relbounds("severity ~ age", frame, missing="keep")


def test_pandas_frames_become_r_frames(ro: Any, data: pd.DataFrame, fit: interop.RFit) -> None:
    found = interop.relbounds(FORMULA, data, C=1.0, **QUICK)
    assert np.abs(found.table[NUMBERS].to_numpy() - fit.table[NUMBERS].to_numpy()).max() < 1e-10
    small = data.head(100).assign(flag=lambda d: d["age"] > 50, name=lambda d: d["sex"].astype(str))
    small.loc[4, "name"] = None
    found = interop.relbounds("severity ~ age + flag + name", small, C=1.0, **QUICK)
    assert len(found.design.y) == 99
    with pytest.raises(RelboundsError, match="data frame, not list"):
        interop.relbounds("severity ~ age", [1, 2])


def test_s3_methods_work_on_what_to_r_returns(ro: Any, fit: interop.RFit, data: pd.DataFrame) -> None:
    for one in (fit, rb.relbounds(FORMULA, data, C=1.0, **QUICK)):
        sent = interop.to_r(one)
        assert "relbounds" in list(sent.rclass)
        ro.globalenv["fit"] = sent
        shown = "\n".join(ro.r("capture.output(print(summary(fit)))"))
        assert "none|mild" in shown and "stiffness" in shown
        assert int(ro.r("nobs(fit)")[0]) == 300
        assert np.allclose(list(ro.r("coef(fit)")), one.baseline.weights)
        assert [str(v) for v in ro.r("as.character(fitted(fit))")] == [str(v) for v in one.predict()]
        assert set(ro.r("relbounds::selected(fit, 'strong')")) == set(one.selected("strong"))
        assert ro.r("nrow(generics::tidy(fit))")[0] == len(one.table)
        assert str(ro.r("deparse(relbounds::selected_formula(fit, 'strong'))")[0]).startswith("severity ~ ")


def test_a_pandas_formula_predicts_from_its_columns(ro: Any, data: pd.DataFrame) -> None:
    ours = rb.relbounds("severity ~ age + np.log(crp)", data.head(100), C=1.0, **QUICK)
    ro.globalenv["fit"] = interop.to_r(ours)
    guess = ro.r(
        "with(relbounds::severity, as.character(predict(fit, setNames(data.frame(age, log(crp)),"
        " c('age', 'np.log(crp)')))))"
    )
    assert list(guess) == [str(v) for v in ours.predict(data)]


def test_methods_that_need_python_use_this_one(ro: Any, fit: interop.RFit) -> None:
    ro.globalenv["fit"] = interop.to_r(fit)
    held = ro.r("relbounds::constrain(fit, esr = 'off')$table$upper")
    assert np.allclose(list(held), fit.constrain({"esr": "off"}).table["upper"])
    message = ro.r("tryCatch(relbounds::constrain(fit, essr = 0), relbounds_error = conditionMessage)")[0]
    assert "Did you mean 'esr'?" in message
    assert not ro.r("'reticulate' %in% loadedNamespaces() && reticulate::py_available()")[0]


def test_r_errors_arrive_as_ours(ro: Any) -> None:
    frame = ro.r("relbounds::severity")
    with pytest.raises(RelboundsError, match=r"Did you mean 'bmi'\?"):
        interop.relbounds(ro.Formula("severity ~ bmj"), frame)
    with pytest.raises(RelboundsError, match=r"two priv"):
        interop.relbounds("severity ~ age | priv(biopsy) | priv(followup)", frame)
    with pytest.raises(RelboundsError, match="no option 'probs'"):
        interop.relbounds("severity ~ age", frame, probs=3)


def test_weights(ro: Any, data: pd.DataFrame) -> None:
    small = data.head(100).assign(w=np.where(data.head(100)["age"] > 50, 2.0, 1.0))
    by_name = interop.relbounds("severity ~ age + crp", small, weights="w", C=1.0, **QUICK)
    by_value = interop.relbounds("severity ~ age + crp", small, weights=small["w"].to_numpy(), C=1.0, **QUICK)
    assert by_name.table.equals(by_value.table)
    with pytest.raises(RelboundsError, match="not a column"):
        interop.relbounds("severity ~ age", small, weights="ww")


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rpy2.robjects", None)
    assert not interop.available()
    with pytest.raises(MissingExtraError, match=r"pip install 'relbounds\[r\]'"):
        interop.relbounds("y ~ x", None)


def test_an_r_without_the_package_is_told_how_to_install_it(ro: Any, tmp_path: Path) -> None:
    code = "from relbounds.interop import r; r.relbounds('y ~ x', None)"
    environment = {
        **os.environ,
        "R_LIBS": str(tmp_path),
        "R_LIBS_USER": str(tmp_path),
        "R_LIBS_SITE": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert "R CMD INSTALL r-package" in done.stderr


# -- the bridge, which needs no R


def sent_design(data: pd.DataFrame, **changes: Any) -> dict[str, Any]:
    X = data[["age", "stiffness"]].to_numpy(dtype=float)
    codes = data["severity"].cat.codes.to_numpy(dtype=float) + 1
    design = {
        "n": float(len(X)),
        "X": {"values": X.tobytes(order="F"), "names": ["age", "stiffness"], "terms": ["age", "stiffness"]},
        "Z": None,
        "y": codes.tobytes(),
        "levels": [str(level) for level in data["severity"].cat.categories],
        "ordered": True,
        "family": "auto",
        "weights": None,
        "standardize": True,
        "response": "severity",
        "formula": "severity ~ age + stiffness",
    }
    return {**design, **changes}


def test_the_bridge_fits_what_it_is_sent(data: pd.DataFrame) -> None:
    answer = bridge.call("fit", [sent_design(data), {"C": 1.0, **QUICK}])
    assert answer["error"] is None
    ours = rb.relbounds("severity ~ age + stiffness", data, C=1.0, **QUICK)
    assert answer["value"]["table"]["upper"] == ours.table["upper"].tolist()
    assert plain.restore(answer["value"]["serialized"]).table.equals(ours.table)


def test_errors_cross_the_bridge_without_a_traceback(data: pd.DataFrame) -> None:
    answer = bridge.call("fit", [sent_design(data), {"C": -1.0}])
    assert answer["error"]["type"] == "option_error"
    assert "Traceback" not in answer["error"]["message"]
    answer = bridge.call("fit", [sent_design(data, y=b"12345"), {}])
    assert answer["error"]["type"] == "internal_error"


def test_warnings_cross_the_bridge(data: pd.DataFrame) -> None:
    X = data[["stiffness"]].to_numpy(dtype=float)
    sent = sent_design(data, X={"values": X.tobytes(order="F"), "names": "stiffness", "terms": "stiffness"})
    answer = bridge.call("fit", [sent, {"C": 1.0, "probes": 4.0, "control": "published", **QUICK}])
    assert any("permuted" in text for text in answer["warnings"])


def test_the_r_example_of_the_readme_is_run_word_for_word() -> None:
    tested = (ROOT / "r-package/tests/testthat/test-readme.R").read_text()
    for file in ("README.md", "r-package/README.md"):
        blocks = (ROOT / file).read_text().split("```r\n")[1:]
        example = blocks[0].split("```")[0]
        assert example.startswith("library(relbounds)")
        assert example in tested, f"The R example of {file} is not the one in test-readme.R."


@pytest.mark.slow
def test_a_new_user_installs_both_sides(tmp_path: Path) -> None:
    """From an empty library and no virtual environment to a fit, as the README says."""
    if shutil.which("R") is None:
        pytest.skip("R is not installed.")
    library = tmp_path / "library"
    library.mkdir()
    code = (
        f"install.packages('{ROOT / 'r-package'}', repos = NULL, type = 'source', lib = '{library}');"
        f"library(relbounds, lib.loc = '{library}');"
        f"install_relbounds(envname = '{tmp_path / 'env'}', python = '{sys.executable}')"
    )
    environment = {
        k: v for k, v in os.environ.items() if k not in ("RETICULATE_PYTHON", "VIRTUAL_ENV", "PYTHONPATH")
    }
    # a folder of this name must not be taken for the package
    (tmp_path / "relbounds").mkdir()
    done = subprocess.run(
        ["Rscript", "-e", code], check=True, env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    said = done.stderr.split("* DONE (relbounds)")[-1].strip().splitlines()
    assert len(said) == 2 and said[0].startswith("Installing "), said
    code = (
        f"library(relbounds, lib.loc = '{library}'); reticulate::use_virtualenv('{tmp_path / 'env'}');"
        "fit <- relbounds(severity ~ age + bmi + crp, severity, C = 1); cat(class(fit));"
        "print(relbounds_config())"
    )
    done = subprocess.run(
        ["Rscript", "-e", code], capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Everything is there" in done.stdout
    assert str(tmp_path / "env") in done.stdout


def test_workers_start_after_r_has(fit: interop.RFit, data: pd.DataFrame) -> None:
    # R changes the library path of the process, with which a worker could load another libpython
    one, two = (rb.relbounds(FORMULA, data, C=1.0, n_jobs=n) for n in (1, 2))
    assert one.table.equals(two.table)
    code = "import sys; print(sys.version, end='')"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout == sys.version
