"""The downward walk: levels that keep their word, few refits, nothing that depends on how waves are run."""

import numpy as np
import pytest

from relbounds.linear.noise.score import ScoreFound
from relbounds.linear.noise.walk import BlockValues, combine, one_by_one, refits_needed, strong_p, walk


def _noise(scale=1.0, seed=0):
    """Refits in which each permuted term has a uniform value of its own."""

    def refit(draw, block):
        rng = np.random.default_rng([seed, draw])
        own = dict(zip(block, scale * rng.random(len(block)), strict=True))
        return BlockValues(max(own.values()), own, dict.fromkeys(block, 0.0))

    return one_by_one(refit)


def test_noise_is_rejected_no_more_often_than_promised():
    false = 0
    for seed in range(1200):
        observed = dict(enumerate(np.random.default_rng([7, seed]).random(6)))
        found = walk(observed, _noise(seed=seed), alpha=0.1, draws=59 if seed % 2 else None)
        false += found.relevant.any()
        assert (found.relevant == (found.p_adjusted <= 0.1)).all()
    assert false <= 0.1 * 1200 + 2 * np.sqrt(1200 * 0.1 * 0.9)
    assert false >= 0.05 * 1200


def test_p_values_are_valid_at_every_level():
    p = np.array(
        [
            walk({0: np.random.default_rng([8, seed]).random()}, _noise(seed=seed), alpha=0.1).p_adjusted[0]
            for seed in range(1500)
        ]
    )
    for level in (0.05, 0.1, 0.2, 0.5):
        assert np.mean(p <= level) <= level + 3 * np.sqrt(level * (1 - level) / 1500)


def test_stand_ins_are_found_together_by_few_refits():
    observed = {f"copy{k}": 5.0 + k for k in range(20)} | {f"noise{k}": 0.04 * k for k in range(10)}
    found = walk(observed, _noise())
    relevant = {term for term, yes in zip(found.terms, found.relevant, strict=True) if yes}
    assert relevant == {f"copy{k}" for k in range(20)}
    assert found.refits <= 19 + refits_needed(0.025) + 19
    assert set(found.last_block) == {f"noise{k}" for k in range(10)}
    assert len(found.last) >= 8


def test_degenerate_noise_gives_no_shortcut():
    blocks = []

    def refit(draw, block):
        blocks.append(block)
        # nothing is used once everything is permuted; with "a" in its place noise reaches 1
        return BlockValues(0.0 if "a" in block else 1.0 + draw % 3)

    found = walk({"a": 3.0, "b": 2.0, "c": 0.5}, one_by_one(refit))
    assert found.relevant.tolist() == [True, False, False]
    assert set(blocks) == {("a", "b", "c"), ("b", "c")}


def test_waves_may_run_in_any_order():
    observed = {k: 0.2 * k for k in range(10)}
    plain = _noise(seed=3)

    def backwards(draws, block):
        by_draw = {draw: plain(range(draw, draw + 1), block)[0] for draw in reversed(draws)}
        return [by_draw[draw] for draw in draws]

    one, other = walk(observed, plain), walk(observed, backwards)
    assert (one.p_adjusted == other.p_adjusted).all() and (one.p == other.p).all()


def test_order_of_terms_does_not_matter():
    observed = {k: 0.3 * ((7 * k) % 11) for k in range(11)}
    turned = dict(reversed(observed.items()))
    one, other = walk(observed, _noise(seed=4)), walk(turned, _noise(seed=4))
    assert dict(zip(one.terms, one.p_adjusted, strict=True)) == dict(
        zip(other.terms, other.p_adjusted, strict=True)
    )


def test_running_maximum_and_own_tails():
    found = walk({k: 0.09 * k for k in range(11)}, _noise(seed=5))
    ordered = found.p_adjusted[list(found.order)]
    assert (np.diff(ordered) >= 0).all()
    assert (found.p <= found.p_adjusted).all()
    # a value of 0 is reached by every refit
    assert found.p[0] == 1.0 and found.p_adjusted[0] == 1.0


def test_nothing_left_is_nothing_found():
    found = walk({}, _noise())
    assert found.refits == 0 and not found.last and len(found.p) == 0


def test_strong_needs_more_than_noise_reaches():
    found = walk({"noise": 0.5}, _noise())
    p = strong_p({"needed": 0.3, "open": 0.0}, found)
    assert p["needed"] == pytest.approx(1 / (1 + len(found.last))) and p["open"] == 1.0


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_combined_class_and_p_value_agree(share):
    rng = np.random.default_rng(6)
    for _ in range(50):
        p = rng.random(5) ** 4
        score = ScoreFound((), np.zeros(5), p, p, p, np.zeros(5, dtype=int))
        found = walk({1: 2.0, 3: 0.5}, _noise(seed=int(rng.integers(99))), alpha=0.05 * (1 - share))
        verdict = combine(score, found, 0.05, share)
        assert (verdict.relevant == (verdict.p_adjusted <= 0.05)).all()
        assert verdict.relevant[1] and verdict.by[1] in ("refit", "score")
        assert (verdict.relevant >= (p <= 0.05 * share)).all()
