"""Terms: kinds, coding of factors, titles, and how they are found by name."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relbounds.design import make_design
from relbounds.errors import DataError, OptionError, RelboundsWarning


def kinds(formula, data, **options):
    return {t.name: t.kind for t in make_design(formula, data, **options).design_terms}


def test_kinds(data):
    found = kinds(
        "grade ~ x1 + log(x2) + C(site) + stage + smoker + I(x1 > 0) + bs(x3, df=4) + x1:x3 + site:stage"
        " + site:x1 + stage:smoker | adjust(site:x3) | priv(z1, C(rater))",
        data,
    )
    assert found == {
        "x1": "number",
        "log(x2)": "number",
        "C(site)": "factor",
        "stage": "pair",
        "smoker": "pair",
        "I(x1 > 0)": "pair",
        "bs(x3, df=4)": "columns",
        "x1:x3": "number",
        "site:stage": "factor",
        "site:x1": "columns",
        "stage:smoker": "factor",
        "site:x3": "columns",
        "z1": "number",
        "C(rater)": "factor",
    }


def test_facts_of_a_term(data):
    design = make_design("grade ~ x1 + C(site) + stage | adjust(x3) | priv(z1, rater)", data)
    parts = [t.part for t in design.design_terms]
    assert parts == ["regular"] * 3 + ["adjust"] + ["privileged"] * 2
    site = design.design_terms[1]
    assert site.columns == (1, 2, 3) and site.labels == ("site[A]", "site[B]", "site[C]")
    assert site.levels == ("A", "B", "C") and not site.ordered and site.title == "C(site)"
    np.testing.assert_allclose(site.shares, data["site"].value_counts(normalize=True).sort_index())
    assert site.variables == ("site",)
    stage = design.design_terms[2]
    assert stage.ordered and stage.title == "stage: II - I" and stage.labels == ("stage: II - I",)
    np.testing.assert_allclose(stage.shares, [(data["stage"] == "I").mean(), (data["stage"] == "II").mean()])
    assert design.adjust.shape == (60, 1) and design.adjust_names == ("x3",)
    for term in design.design_terms:
        values = {"regular": design.X, "adjust": design.adjust, "privileged": design.Z}[term.part]
        assert max(term.columns) < values.shape[1] and len(term.columns) == len(term.labels)


def test_a_two_level_factor_is_the_variable_coded_0_and_1(data):
    data["sex"] = np.where(data["smoker"], "male", "female")
    data["male"] = (data["sex"] == "male").astype(int)
    by_name = make_design("grade ~ sex", data)
    by_hand = make_design("grade ~ male", data)
    truth = make_design("grade ~ smoker", data)
    np.testing.assert_array_equal(by_name.X, by_hand.X)
    np.testing.assert_array_equal(truth.X, by_hand.X)
    assert by_name.names == ("sex: male - female",)


def test_one_common_scale_with_weights(data):
    design = make_design("grade ~ site + x1", data, weights="x2")
    w = data["x2"] / data["x2"].sum()
    shares = np.array([w[data["site"] == s].sum() for s in "ABC"])
    scale = np.sqrt(0.5 * np.sum(shares * (1 - shares)))
    for k, s in enumerate("ABC"):
        np.testing.assert_allclose(design.X[:, k], ((data["site"] == s) - shares[k]) / scale)
    np.testing.assert_allclose(design.design_terms[0].shares, shares)
    mean = float(w @ data["x1"])
    sd = np.sqrt(w @ (data["x1"] - mean) ** 2)
    np.testing.assert_allclose(design.X[:, 3], (data["x1"] - mean) / sd)


def test_number_by_factor_has_one_scale(data):
    design = make_design("grade ~ x1:site", data)
    raw = np.column_stack([data["x1"] * (data["site"] == s) for s in "ABC"])
    assert len(set(design.scale)) == 1
    np.testing.assert_allclose(design.scale[0], np.sqrt(raw.var(axis=0).sum()))
    spline = make_design("grade ~ bs(x3, df=4)", data)
    np.testing.assert_allclose(spline.X.std(axis=0), 1)


def test_cells_that_occur(data):
    some = data[~((data["site"] == "A") & (data["stage"] == "II"))]
    design = make_design("grade ~ site:stage", some)
    (term,) = design.design_terms
    assert term.levels == ("A:I", "B:I", "C:I", "B:II", "C:II")
    assert term.labels[0] == "site[A]:stage[I]" and sum(term.shares) == pytest.approx(1)
    with pytest.raises(DataError, match="combination of 'site' and 'stage'"):
        design.transform(data)
    two = data[
        (data["site"] == "A") & (data["stage"] == "II") | (data["site"] == "B") & (data["stage"] == "I")
    ]
    design = make_design("grade ~ site:stage + x1", two)
    assert design.design_terms[0].kind == "pair"
    assert design.design_terms[0].title == "site:stage: A:II - B:I"
    with pytest.raises(DataError, match="combination"):
        design.transform(data[data["site"] != "C"])


def test_a_factor_with_one_level_is_left_out_by_name(data):
    data["one"] = "same"
    with pytest.warns(RelboundsWarning, match=r"Constant feature left out: 'C\(one\)'"):
        design = make_design("grade ~ x1 + C(one)", data)
    assert design.names == ("x1",) and any("C(one)" in note for note in design.notes)


# -- adjusting covariates


def test_adjusting_columns_are_independent(data):
    data["copy"] = 2 * data["x3"] + 1
    with pytest.warns(RelboundsWarning, match="others determine them: 'copy'"):
        design = make_design("grade ~ x1 | adjust(C(site), x3, copy, smoker)", data)
    assert design.adjust_names == ("site: B - A", "site: C - A", "x3", "smoker: True - False")
    terms = [t for t in design.design_terms if t.part == "adjust"]
    assert [t.kind for t in terms] == ["columns", "number", "pair"]
    assert terms[0].labels == ("site: B - A", "site: C - A")
    full = np.column_stack([np.ones(60), design.adjust])
    assert np.linalg.matrix_rank(full) == full.shape[1]
    np.testing.assert_array_equal(design.transform_adjust(data), design.adjust)
    np.testing.assert_array_equal(design.transform(data), design.X)
    assert design.transform_adjust(data.iloc[:0]).shape == (0, 4)


def test_parts_in_any_order(data):
    one = make_design("grade ~ x1 | adjust(x3, site) | priv(z1)", data)
    two = make_design("grade ~ x1 | priv(z1) | adjust(x3 + site)", data)
    for name in ("X", "Z", "adjust"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.design_terms == two.design_terms
    assert make_design("grade ~ x1", data).transform_adjust(data).shape == (60, 0)


def test_the_dot_leaves_out_what_has_another_role(data):
    design = make_design("grade ~ . | adjust(x3) | priv(z1, z2)", data, cluster="rater", weights="x2")
    assert set(design.terms) == {"x1", "site", "stage", "smoker", 'Q("odd name")'}


def test_the_privileged_part_as_a_design_of_its_own(data):
    design = make_design("grade ~ x1 | adjust(x3) | priv(z1, C(rater))", data)
    teacher = design.privileged_design()
    np.testing.assert_array_equal(teacher.X, design.Z)
    np.testing.assert_array_equal(teacher.transform(data), design.Z)
    assert [t.part for t in teacher.design_terms] == ["regular", "regular", "adjust"]
    assert teacher.find_term("rater").columns == (1, 2, 3) and not teacher.priv_names


def test_new_rows_as_a_dict_of_columns(data):
    new = {name: data[name].to_numpy()[:5] for name in ("x1", "x3")}
    design = make_design("grade ~ x1 | adjust(x3)", data)
    np.testing.assert_allclose(design.transform_adjust(new), design.adjust[:5])
    assert make_design("grade ~ x1", data).transform_adjust(new).shape == (5, 0)


# -- names


def test_finding_terms(data):
    design = make_design("grade ~ log(x2) + C(site) + stage + x1 + I(x1**2) + x3:smoker | priv(z1, z2)", data)
    for name, expected in {
        "x2": "log(x2)",
        "log(x2)": "log(x2)",
        "site": "C(site)",
        "C(site)": "C(site)",
        "stage": "stage",
        "stage: II - I": "stage",
        "x1": "x1",
        "x3": "x3:smoker",
        "z1": "z1",
    }.items():
        assert design.find_term(name).name == expected
    assert design.find_term("z1", "privileged").columns == (0,)


@pytest.mark.parametrize(
    "name, part, message",
    [
        ("x2", None, r"'log\(x2\)' or 'I\(x2 \*\* 2\)'"),
        ("sit", None, "Did you mean 'site'"),
        ("site[A]", None, r"a level of the term 'C\(site\)'"),
        ("bs(x3, df=4)[0]", None, "a column of the term"),
        ("z1", "regular", "no regular term 'z1'"),
        ("qqqqq", None, "There are: 'log"),
        ("x1", "other", "part='other'"),
        (3, None, "no term '3'"),
    ],
)
def test_names_that_mean_nothing_or_too_much(data, name, part, message):
    design = make_design("grade ~ log(x2) + I(x2**2) + C(site) + bs(x3, df=4) | priv(z1)", data)
    with pytest.raises(OptionError, match=message):
        design.find_term(name, part)


# -- laws


def table(seed, n=40, levels=4):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"y": rng.normal(size=n), "x": rng.normal(size=n), "w": rng.random(n) + 0.1})
    data["s"] = rng.permutation(np.resize([chr(97 + k) for k in range(levels)], n))
    data["t"] = rng.choice(["p", "q"], n)
    return data


FORMULA = "y ~ s + t + s:t + s:x + x"


def columns_of(design):
    """Columns with their scale, whatever their order and, for a pair, their sign."""
    out = []
    for term in design.design_terms:
        block = design.X[:, term.columns]
        if term.kind == "pair":
            block = block * np.sign(block[0])
        out += [tuple(np.round(column, 9)) for column in block.T]
    return sorted(out)


@given(st.integers(0, 1000), st.permutations("abcd"), st.booleans())
@settings(max_examples=25)
def test_order_unused_levels_and_names_change_nothing(seed, order, weighted):
    data = table(seed)
    options = {"weights": "w"} if weighted else {}
    expected = columns_of(make_design(FORMULA, data, **options))
    reordered = data.assign(
        s=pd.Categorical(data["s"], [*order, "unused"]), t=data["t"].map({"p": "z", "q": "a"})
    )
    assert columns_of(make_design(FORMULA, reordered, **options)) == expected
    renamed = data.assign(s=data["s"].map(dict(zip("abcd", order, strict=True))), t=data["t"] == "p")
    assert columns_of(make_design(FORMULA, renamed, **options)) == expected
    codes = data.assign(s=data["s"].map({c: 10 * k for k, c in enumerate(order)}))
    found = make_design(FORMULA.replace("s", "C(s)"), codes, **options)
    assert columns_of(found) == expected


@given(st.integers(0, 1000), st.booleans())
@settings(max_examples=25)
def test_counts_equal_rows_written_out(seed, weighted):
    data = table(seed, 15, 3)
    rng = np.random.default_rng(seed + 1)
    counts = rng.integers(0, 4, 15)
    counts[:3] += 1
    options = {"weights": "w"} if weighted else {}
    formula = "y ~ s + x + bs(x, df=4) + center(x):s"
    one = make_design(formula, data.assign(n=counts), frequency="n", cluster="t", **options)
    two = make_design(formula, data.loc[np.repeat(data.index, counts)], cluster="t", **options)
    for name in ("X", "y", "weights", "cluster", "center", "scale"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.index.equals(two.index) and one.design_terms == two.design_terms
    assert any("observations" in note for note in one.notes)


@given(st.integers(0, 1000), st.floats(1e-6, 1e6))
@settings(max_examples=25)
def test_weights_count_relatively_and_zero_is_nothing(seed, factor):
    data = table(seed)
    data.loc[[3, 8], "w"] = 0.0
    one = make_design(FORMULA, data, weights="w")
    two = make_design(FORMULA, data.assign(w=factor * data["w"]).drop(index=[3, 8]), weights="w")
    np.testing.assert_allclose(one.X, two.X, rtol=1e-9, atol=1e-12)
    assert len(one.y) == 38


def test_whole_weights_scale_as_counts_do():
    data = table(1)
    data["n"] = np.arange(40) % 3 + 1
    one = make_design(FORMULA, data, weights="n")
    two = make_design(FORMULA, data, frequency="n")
    np.testing.assert_allclose(one.center, two.center, atol=1e-12)
    np.testing.assert_allclose(one.scale, two.scale)
    np.testing.assert_allclose(one.y_center, two.y_center)
    np.testing.assert_allclose(one.y_scale, two.y_scale)


def test_rows_without_a_transformed_value_take_their_levels_with_them(data):
    data.loc[data["site"] == "A", "x2"] = -1.0
    with pytest.warns(RelboundsWarning, match="no value"):
        design = make_design("grade ~ log(x2) + site", data)
    assert design.design_terms[1].kind == "pair" and design.names[1] == "site: C - B"
