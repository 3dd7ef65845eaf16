"""Fits as files: all kinds come back, and no file can do harm."""

import io
import json
import math
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

import relbounds as rb
from relbounds.design.stored_factors import only_computes

# few rows and few probes: some say so
pytestmark = pytest.mark.filterwarnings("ignore::relbounds.errors.RelboundsWarning")
QUICK = {"C": 0.5, "delta": 0.2, "control": "published", "probes": 5}


def severity():
    data = rb.datasets.load_severity().head(90)
    data["site"] = np.where(data["bmi"] > 30, "north", np.where(data["age"] > 60, "south", "west"))
    return data


def doubled(x):
    return 2 * x


FORMULAS = [
    "severity ~ age + crp",
    "severity ~ C(site) + center(age) + standardize(crp)",
    "severity ~ bs(age, df=4) + cr(crp, df=3) + site:age",
    "severity ~ np.log(crp + 1) + I(age ** 2) + Q('bmi') + C(site, levels=['west', 'south', 'north'])",
    "severity ~ age + crp | adjust(sex) | priv(biopsy)",
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas_come_back_and_predict_the_same(formula, tmp_path):
    data = severity()
    fit = rb.relbounds(formula, data, **QUICK)
    again = rb.load(fit.save(tmp_path / "fit.relbounds"))
    pd.testing.assert_frame_equal(again.table, fit.table, check_exact=True)
    new = data.sample(40, random_state=1)
    pd.testing.assert_series_equal(again.predict(new), fit.predict(new))
    pd.testing.assert_series_equal(again.decision_function(new), fit.decision_function(new))
    assert str(again.summary()) == str(fit.summary()) and again.notes == fit.notes
    assert again.to_bytes() == fit.to_bytes()
    assert again.score(new) == fit.score(new)


@pytest.mark.parametrize("family", ["binary", "regression"])
def test_other_families_come_back(family):
    data = getattr(rb.simulate, family)(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    fit = rb.relbounds(data.formula, data.data, **QUICK)
    again = rb.RelboundsResults.from_bytes(fit.to_bytes())
    pd.testing.assert_frame_equal(again.table, fit.table, check_exact=True)
    assert again.predict(data.data).equals(fit.predict(data.data))


def test_kernel_machines_and_forests_come_back(tmp_path):
    data = rb.simulate.paper_set(3, seed=1).data
    for fit in (rb.svor("y ~ .", data, C=1.0), rb.forest_relevance("y ~ .", data, probes=4, repeats=1)):
        again = rb.load(fit.save(tmp_path / "fit"))
        assert type(again) is type(fit) and str(again.summary()) == str(fit.summary())
        with pytest.raises(rb.DataError, match="not a fit"):
            rb.RelboundsResults.from_bytes(fit.to_bytes())


def test_what_was_asked_of_a_loaded_fit_is_what_was_asked_before():
    data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    fit = rb.relbounds(data.formula, data.data, **QUICK)
    again = rb.RelboundsResults.from_bytes(fit.to_bytes())
    wish = {fit.table.index[0]: float(fit.table[["lower", "upper"]].iloc[0].mean())}
    one, two = fit.constrain(wish), again.constrain(wish)
    pd.testing.assert_frame_equal(one.table, two.table, check_exact=True)
    pd.testing.assert_frame_equal(type(one).from_bytes(one.to_bytes()).table, one.table, check_exact=True)


def test_a_new_process_reads_the_file(tmp_path):
    fit = rb.relbounds(FORMULAS[1], severity(), **QUICK)
    path = fit.save(tmp_path / "fit.relbounds")
    code = f"import relbounds as rb; print(rb.load({str(path)!r}).table['upper'].tolist())"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == str(fit.table["upper"].tolist())


def test_functions_of_the_user_are_handed_over_when_loading(tmp_path):
    data = severity()
    fit = rb.relbounds("severity ~ doubled(age) + crp", data, **QUICK)
    with pytest.warns(rb.RelboundsWarning, match=r"'doubled'.*functions=\{'doubled': doubled\}"):
        path = fit.save(tmp_path / "fit")
    without = rb.load(path)
    assert without.table.equals(fit.table)
    with pytest.raises(rb.RelboundsError, match="doubled"):
        without.predict(data)
    with_it = rb.load(path, functions={"doubled": doubled})
    assert with_it.predict(data).equals(fit.predict(data))


def test_a_kernel_of_the_user_likewise(tmp_path):
    def mine(A, B):
        return A @ B.T

    data = severity()
    fit = rb.svor("severity ~ age + crp", data, kernel=mine, C=1.0)
    with pytest.warns(rb.RelboundsWarning, match="mine"):
        path = fit.save(tmp_path / "fit")
    with pytest.raises(rb.DataError, match=r"functions=\{'mine': mine\}"):
        rb.load(path).predict(data)
    assert rb.load(path, functions={"mine": mine}).predict(data).equals(fit.predict(data))


def test_the_cluster_and_the_bar_are_not_stored():
    data = rb.simulate.paper_set(3, seed=1)
    fit = rb.relbounds(data.formula, data.data, progress=lambda *_: None, **QUICK)
    again = rb.RelboundsResults.from_bytes(fit.to_bytes())
    assert again.options["progress"] is None and again.options["seed"] == fit.options["seed"]


def rewritten(data, change):
    """Return a saved fit whose manifest was changed by someone else."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "relbounds.json":
                content = change(content.decode()).encode()
            new.writestr(name, content)
    return out.getvalue()


@pytest.fixture(scope="module")
def saved():
    return rb.relbounds("severity ~ np.log(crp + 1) + age", severity(), **QUICK).to_bytes()


EVIL = "__import__('os').system('touch {}')"


@pytest.mark.parametrize(
    "code",
    [
        EVIL,
        "np.load('{}')",
        "np.log.__class__.__mro__",
        "(lambda: open('{}', 'w'))()",
        "[open('{}', 'w') for _ in (1,)]",
        "open('{}', 'w')",
        "np.lib.format.open_memmap('{}', 'w+', shape=(1,))",
        "eval('1')",
        "x if",
        "f'{{open}}'",
    ],
)
def test_code_in_a_file_is_never_run(code, saved, tmp_path):
    evil = code.format(tmp_path / "owned")
    data = rewritten(saved, lambda text: text.replace("np.log(crp + 1)", json.dumps(evil)[1:-1]))
    try:
        fit = rb.RelboundsResults.from_bytes(data)
        with pytest.raises(rb.RelboundsError):
            fit.predict(severity())
    except rb.DataError:
        pass
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("linear.fitted.Fitted", "os.system"),
        ("linear.fitted.Fitted", "options.Options"),
        ('"norm":', '"nrom":'),
        ('"known":["np"]', '"known":["exec"]'),
        ('"known":["np"]', '"known":[],"own":{"dict":[]}'),
        ('"transforms":{"dict":[]}', '"transforms":{"dict":[["a",["os",{"dict":[]}]]]}'),
        ('{"array":0}', '{"array":99}'),
        ('{"array":0}', '{"array":-1}'),
        ('{"array":0}', "1"),
        ('"tolerance":"split"', '"tolerance":"both"'),
        ('"family":"ordinal"', '"family":3'),
    ],
)
def test_crafted_files_are_one_clear_error(before, after, saved):
    def change(text):
        assert before in text or "known" in before or "transforms" in before
        return text.replace(before, after)

    try:
        fit = rb.RelboundsResults.from_bytes(rewritten(saved, change))
        with pytest.raises(rb.RelboundsError):
            fit.predict(severity())
            raise rb.DataError("harmless")
    except rb.DataError as error:
        assert "damaged" in str(error)


def test_damage_anywhere_in_a_fit_is_a_clear_error(saved):
    for place in range(0, len(saved), max(1, len(saved) // 60)):
        broken = saved[:place] + bytes([saved[place] ^ 0xFF]) + saved[place + 1 :]
        try:
            rb.RelboundsResults.from_bytes(broken)
        except rb.DataError:
            continue


def test_loading_what_is_no_file_is_explained(tmp_path):
    for path, words in [
        (tmp_path / "none", "There is no file"),
        (tmp_path, "cannot be read"),
        (3, "must be text or a Path"),
        (None, "must be text or a Path"),
        ("a\0b", "cannot be read"),
    ]:
        with pytest.raises(rb.DataError, match=words):
            rb.load(path)
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(rb.DataError, match="not a saved relbounds fit"):
        rb.load(tmp_path / "empty")


def test_a_fit_is_written_whole_or_not_at_all(tmp_path):
    fit = rb.relbounds(FORMULAS[0], severity(), **QUICK)
    with pytest.raises(rb.OutputError, match="does not exist"):
        fit.save(tmp_path / "no" / "fit")
    with pytest.raises(rb.OutputError, match="this is a folder"):
        fit.save(tmp_path)


@pytest.mark.parametrize(
    ("code", "fine"),
    [
        ("x + 1", True),
        ("np.log(x)", True),
        ("t.transform(x, df=4)", True),
        ("C(x, levels=['a', 'b'])", True),
        ("-x ** 2 if True else x", True),
        ("x.sum()", False),
        ("np.log(x, x)", False),
        ("np.log(x, out=x)", False),
        ("np.random.rand(3)", False),
        ("t.other(x)", False),
        ("unknown(x)", False),
        ("x[0]", False),
        ("{x}", False),
        ("(y := x)", False),
        ("x; y", False),
        ("", False),
        ("(" * 500 + ")" * 500, False),
    ],
)
def test_what_counts_as_computing(code, fine):
    assert only_computes(code, {"x", "np", "C"}, {"t"}) is fine


def test_numbers_that_json_lacks_survive():
    data = rb.simulate.paper_privileged_set(1, seed=2)
    fit = rb.relbounds(data.formula, data.data, gamma=1.0, privileged="slack", **{**QUICK, "C": 1.0})
    again = rb.RelboundsResults.from_bytes(fit.to_bytes())
    assert math.isinf(again.options["residual"])
