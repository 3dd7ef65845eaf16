"""Random problems of every family, kind and unit, by the package and by linprog on the definitions."""

import fuzz_compare as module
import pytest
from fuzz_compare import PROMISED, compare
from fuzz_problems import make_problem

QUICK, ALL, PIECE = 300, 4000, 10


def check(seeds):
    wrong = []
    for seed in seeds:
        problem = make_problem(seed)
        try:
            found = compare(problem)
        except Exception as error:
            wrong.append(f"{problem}: {type(error).__name__}: {error}")
            continue
        if not (found.objective <= PROMISED and found.bounds <= PROMISED):
            wrong.append(
                f"{problem}: objective off by {found.objective:.1e}, bounds by {found.bounds:.1e} {found.worst}"
            )
        elif found.certificate > PROMISED:
            wrong.append(f"{problem}: proved only to {found.certificate:.1e}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("first", range(0, QUICK, PIECE))
def test_bounds_are_those_of_the_definitions(first):
    check(range(first, first + PIECE))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK, ALL, 10 * PIECE))
def test_bounds_are_those_of_the_definitions_in_thousands_of_problems(first):
    check(range(first, first + 10 * PIECE))


def test_every_kind_is_among_the_quick_ones():
    problems = [make_problem(seed) for seed in range(QUICK)]
    for name, values in {
        "family": {"ordinal", "binary", "regression", "nominal"},
        "order": {"explicit", "implicit"},
        "tolerance": {"split", "joint"},
        "delta": {0.0, 1e-6, 0.001, 0.05, 0.3},
        "balance": {True, False},
        "standardize": {True, False},
        "correcting": {"sides", "shared"},
    }.items():
        assert {getattr(problem, name) for problem in problems} == values
    for name in ("Z", "factor", "adjust"):
        assert sum(getattr(problem, name) is not None for problem in problems) > 12
    sizes = [abs(problem.X).max() for problem in problems]
    assert min(sizes) < 1e-10 and max(sizes) > 1e10


def test_a_wrong_tolerance_is_noticed(monkeypatch):
    right = module.equivalent_models

    def wrong(spec, best, delta, tolerance):
        return right(spec, best, delta + 1e-5, tolerance)

    monkeypatch.setattr(module, "equivalent_models", wrong)
    with pytest.raises(AssertionError, match="bounds by"):
        check(range(10))
