import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relbounds.design.formula import functions, parse
from relbounds.design.tokens import quote, tokenize, unquote
from relbounds.errors import FormulaError

COLUMNS = ["grade", "id", "age", "bmi", "x 1", "class", "weight.kg", "z1", "z2"]


def written(terms):
    return " + ".join(term.name for term in terms)


def regular(formula, **options):
    return written(parse(formula, COLUMNS, **options).regular_terms)


@pytest.mark.parametrize(
    "formula, expected",
    [
        ("grade ~ age", "age"),
        ("grade ~ age + bmi", "age + bmi"),
        ("grade ~ age + 1", "age"),
        ("grade ~ 0 + age", "age"),
        ("grade ~ age - 1", "age"),
        ("grade ~ -1 + age", "age"),
        ("grade ~ age + -1", "age"),
        ("grade ~ age + 0 + bmi + 1", "age + bmi"),
        ("grade ~ age + age", "age"),
        ("grade ~ age * bmi", "age + bmi + age:bmi"),
        ("grade ~ age:bmi", "age:bmi"),
        ("grade ~ age:bmi + bmi:age", "age:bmi"),
        ("grade ~ (age + bmi)**2 - age", "bmi + age:bmi"),
        ("grade ~ age / bmi", "age + age:bmi"),
        ("grade ~ log(age) + I(age**2)", "log(age) + I(age ** 2)"),
        ("grade ~ np.log(age)", "np.log(age)"),
        ("grade ~ Q('x 1') + Q(\"class\")", "Q('x 1') + Q(\"class\")"),
        ("grade ~ C(id, levels=[1, 2])", "C(id, levels=[1, 2])"),
        ("grade ~ bs(age, df=4, degree=2)", "bs(age, df=4, degree=2)"),
        ("grade ~ . - id - (z1 + z2)", 'age + bmi + Q("x 1") + Q("class") + Q("weight.kg")'),
        ("grade ~ age + .", 'age + id + bmi + Q("x 1") + Q("class") + Q("weight.kg") + z1 + z2'),
        ("grade ~ age:(. - id - z1 - z2 - Q('x 1') - Q('class') - Q('weight.kg') - age)", "age:bmi"),
        ("\n grade ~ age\n   + bmi\n", "age + bmi"),
        ("grade ~ I(age > 3) + bmi", "I(age > 3) + bmi"),
        ("grade ~ I(age | bmi)", "I(age | bmi)"),
    ],
)
def test_regular_part(formula, expected):
    if "Q('x 1')" in formula and "age:(." in formula:
        formula = formula.replace("Q('x 1')", 'Q("x 1")').replace("Q('class')", 'Q("class")')
        formula = formula.replace("Q('weight.kg')", 'Q("weight.kg")')
    assert regular(formula) == expected


@pytest.mark.parametrize(
    "formula, expected",
    [
        ("grade ~ age", ""),
        ("grade ~ age | priv(z1)", "z1"),
        ("grade ~ age | priv(z1, z2)", "z1 + z2"),
        ("grade ~ age | priv(z1 + z2)", "z1 + z2"),
        ("grade~age|priv(z1,log(z2))", "z1 + log(z2)"),
        (
            "grade ~ age | priv(z1, log(z2), C(id, levels=[1, (2), 3]))",
            "z1 + log(z2) + C(id, levels=[1, (2), 3])",
        ),
        ("grade ~ age | priv(z1*z2, np.clip(id, 0, 1))", "z1 + z2 + z1:z2 + np.clip(id, 0, 1)"),
        ("grade ~ age | priv(z1:age)", "z1:age"),
        ("grade ~ age | priv(. - id)", 'bmi + Q("x 1") + Q("class") + Q("weight.kg") + z1 + z2'),
        ("grade ~ age | priv(Q('a | b (c'))", "Q('a | b (c')"),
    ],
)
def test_privileged_part(formula, expected):
    assert written(parse(formula, [*COLUMNS, "a | b (c"]).privileged_terms) in (
        expected,
        f'{expected} + Q("a | b (c")',
    )


def test_dot_leaves_out_response_and_privileged_columns():
    parsed = parse("np.log(grade) ~ . | priv(z1, log(z2))", COLUMNS)
    assert not {"grade", "z1", "z2"} & set().union(*(t.variables for t in parsed.regular_terms))
    parsed = parse("C(grade, levels=[1, 2]) ~ .", COLUMNS)
    assert "grade" not in written(parsed.regular_terms)


def test_dot_leaves_out_excluded_columns():
    assert regular('grade ~ . - Q("x 1")', exclude=["id", "age"]).startswith("bmi")


def test_response_of_several_variables_may_share_one_with_the_features():
    parsed = parse("I(bmi - age) ~ age", COLUMNS)
    assert parsed.response == "I(bmi - age)"
    assert parsed.response_variables == ("bmi", "age")
    assert "bmi" not in written(parse("I(bmi - age) ~ .", COLUMNS).regular_terms)


@pytest.mark.parametrize(
    "formula, message, at",
    [
        ("grade ~ agee", "Did you mean 'age'", "agee"),
        ("grade ~ age + log(bmj)", "Did you mean 'bmi'", "bmj"),
        ("grade ~ . - bmj", "Did you mean 'bmi'", "bmj"),
        ("grde ~ age", "Did you mean 'grade'", "grde"),
        ("grade ~ Q('x 2')", "Did you mean 'x 1'", "'x 2'"),
        ("grade ~ lgo(age)", "Did you mean 'log'", "lgo"),
        ("grade ~ age(bmi)", "column, not a function", "age("),
        ("grade ~ weight.kg", 'write Q("weight.kg")', "weight"),
        ("grade ~ age | priv(z1) | priv(z2)", "second priv()", "| priv(z2)"),
        ("grade ~ age | priv()", "empty", "priv"),
        ("grade ~ age | priv(z1) + bmi", "Nothing may follow", "+ bmi"),
        ("grade ~ age | priv(z1,, z2)", "missing", ",, z2"),
        ("grade ~ age | priv(, z1)", "missing", ", z1"),
        ("grade ~ age | priv(z1,)", "missing", ",)"),
        ("grade ~ age | z1", "priv", "z1"),
        ("grade ~ age | privv(z1)", "priv", "privv"),
        ("grade ~ age |", "Nothing follows", "|"),
        ("grade ~ age + priv(z1)", "after a '|'", "priv"),
        ("grade | priv(z1) ~ age", "right of '~'", "|"),
        ("grade ~ age + z1 | priv(z1)", "both parts", "z1)"),
        ("grade ~ age + z1 | priv(log(z1))", "both parts", "log(z1)"),
        ("grade ~ age:z1 | priv(z1)", "both parts", "z1)"),
        ("grade ~ . | priv(.)", "two parts", ".)"),
        ("grade ~ age + grade", "is the response", "grade$"),
        ("grade ~ age + log(grade)", "is the response", "log"),
        ("log(grade) ~ age + grade", "is the response", "grade$"),
        ("grade ~ age | priv(grade)", "is the response", "grade)"),
        ("grade ~ age:grade", "is the response", "grade$"),
        ("grade age", "no '~'", " age"),
        ("grade ~", "no feature", "$"),
        ("grade ~ 1", "no feature", "1"),
        ("grade ~ age - age", "no feature", "age - age"),
        ("grade ~ | priv(z1)", "no feature", "|"),
        ("~ age", "no response", "~"),
        ("grade ~ age ~ bmi", "one '~'", "~ bmi"),
        ("grade + id ~ age", "exactly one response", "grade"),
        ("grade:id ~ age", "exactly one response", "grade"),
        (". ~ age", "cannot stand for the response", "."),
        ("grade ~ age + (bmi", "never closed", "(bmi"),
        ("grade ~ age)", "never opened", ")"),
        ("grade ~ log(age]", "never opened", "]"),
        ("grade ~ Q('x 1)", "never closed", "'x 1"),
        ("grade ~ age +", "missing after", "+"),
        ("grade ~ age:", "missing here", ":"),
        ("grade ~ age bmi", "operator is missing", "bmi"),
        ("grade ~ age, bmi", "separated by '+'", ","),
        ("grade ~ age^2", r"I(x**2)", "^2"),
        ("grade ~ 2*age", "Wrap arithmetic", "2"),
        ("grade ~ age + 3", "Wrap arithmetic", "3"),
        ("grade ~ `x 1`", "Backticks", "`x"),
        ("grade ~ log(.)", "inside a function", ".)"),
        ("grade ~ I(age ==)", "cannot be read", "I(age"),
        ("grade ~ I([a for a in age])", "not a column", "a for"),
        ("grade ~ I(lambda: age)", "lambda", "I("),
        ("grade ~ age $ bmi", "no meaning", "$ bmi"),
        ("grade ~ age = bmi", "single '='", "= bmi"),
        ("grade ~ log", "names no column", "log"),
        ("grade ~ age ** bmi", "whole number", "bmi"),
        ("grade ~ “age”", "straight quotation", "“"),
    ],
)
def test_errors_point_at_the_spot(formula, message, at):
    with pytest.raises(FormulaError) as caught:
        parse(formula, COLUMNS)
    text = str(caught.value)
    assert message in text
    shown, caret = text.splitlines()[-2:]
    place = caret.index("^")
    if at == "$":
        assert place == len(shown)
    else:
        ends = at.endswith("$")
        assert shown[place:].startswith(at.rstrip("$") if ends else at)
        assert not ends or shown[place:] == at[:-1]


@pytest.mark.parametrize("formula", ["", "   ", None, 3, ["y ~ x"]])
def test_formula_must_be_a_string_with_something_in_it(formula):
    with pytest.raises(FormulaError, match=r"grade ~ age \+ bmi"):
        parse(formula, COLUMNS)


def test_a_column_may_share_its_name_with_a_function():
    columns = ["y", "C", "log", "x"]
    assert written(parse("y ~ . + C(x) + log(x)", columns).regular_terms) == "C + log + x + C(x) + log(x)"
    with pytest.raises(FormulaError, match="both as a column and as a function"):
        parse("y ~ C(C)", columns)


def test_names_known_to_the_caller_are_accepted():
    assert (
        written(parse("grade ~ squash(age, cut)", COLUMNS, known={"squash", "cut"}).regular_terms)
        == "squash(age, cut)"
    )
    with pytest.raises(FormulaError, match="names no column"):
        parse("grade ~ cut", COLUMNS, known={"cut"})


def test_thousands_of_terms():
    names = [f"g{i}" for i in range(3000)]
    columns = ["y", *names]
    assert len(parse("y ~ " + " + ".join(names), columns).regular_terms) == 3000
    assert len(parse("y ~ .", columns).regular_terms) == 3000
    assert len(parse("y ~ g0:(. - g1)", columns).regular_terms) == 2999


def test_functions_has_what_formulas_need():
    assert {"log", "exp", "sqrt", "log1p", "abs", "np", "C", "Q", "I", "bs", "cr", "te", "center"} <= set(
        functions()
    )
    assert functions()["log"] is np.log


names = st.text(
    alphabet=st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=12
)


@given(st.lists(names, min_size=2, max_size=6, unique=True))
@settings(max_examples=200, deadline=None)
def test_dot_reads_any_column_name(columns):
    parsed = parse(f"{quote(columns[0])} ~ .", columns)
    assert parsed.response_variables == (columns[0],)
    assert [t.factors[0].variables for t in parsed.regular_terms] == [(c,) for c in columns[1:]]
    # Written out, the formula means the same.
    again = parse(f"{parsed.response} ~ {written(parsed.regular_terms)}", columns)
    assert again.regular_terms == parsed.regular_terms


@given(names)
@settings(max_examples=200, deadline=None)
def test_quote_and_unquote(name):
    code = quote(name)
    tokens = tokenize(code)
    if code != name:
        assert unquote(tokens[2].text) == name


@given(st.text(alphabet="yxz12~|+-*/:().,='\" priv^%", max_size=25))
@settings(max_examples=500, deadline=None)
def test_any_text_is_read_or_refused_politely(text):
    try:
        parse(text, ["y", "x", "z", "x1", "z1"])
    except FormulaError as error:
        assert len(str(error)) > 10


@given(st.permutations(["age", "bmi", "z1", "z2"]), st.integers(1, 4))
@settings(deadline=None)
def test_minus_undoes_plus(order, k):
    kept, gone = order[:k], order[k:]
    text = " + ".join(order) + "".join(f" - {g}" for g in gone)
    assert regular(f"grade ~ {text}") == " + ".join(kept)


@pytest.mark.parametrize(
    "formula, message, at",
    [
        ("grade ~ age | adjust(bmi) | adjust(id)", "second adjust()", "| adjust(id)"),
        ("grade ~ age | adjust(bmi) | priv(z1) | adjust(id)", "second adjust()", "| adjust(id)"),
        ("grade ~ age | adjust()", "adjust() is empty", "adjust"),
        ("grade ~ age | adjust(bmi) + id", "Nothing may follow adjust", "+ id"),
        ("grade ~ age + adjust(bmi)", "after a '|'", "adjust"),
        ("grade ~ age | adjst(bmi)", "adjust(...)", "adjst"),
        ("grade ~ age + bmi | adjust(age)", "both parts", "age)"),
        ("grade ~ age | adjust(log(age))", "both parts", "log(age)"),
        ("grade ~ age | adjust(bmi) | priv(bmi)", "both parts", "bmi)"),
        ("grade ~ age | adjust(grade)", "is the response", "grade)"),
        ("grade ~ . | adjust(.)", "two parts", ".)"),
        ("grade ~ age | adjust(.) | priv(.)", "two parts", ".)"),
        ("grade ~ | adjust(age)", "no feature", "|"),
    ],
)
def test_errors_of_parts_point_at_the_spot(formula, message, at):
    with pytest.raises(FormulaError) as caught:
        parse(formula, COLUMNS)
    *said, shown, caret = str(caught.value).splitlines()
    assert message in " ".join(said)
    assert shown[caret.index("^") :].startswith(at)


def test_adjusting_covariates_may_stand_in_interactions_of_features():
    parsed = parse("grade ~ age + age:bmi | adjust(bmi, C(id))", COLUMNS)
    assert written(parsed.regular_terms) == "age + age:bmi"
    assert written(parsed.adjust_terms) == "bmi + C(id)"
    parsed = parse("grade ~ age | priv(z1) | adjust(.)", COLUMNS)
    assert written(parsed.adjust_terms) == 'id + bmi + Q("x 1") + Q("class") + Q("weight.kg") + z2'
