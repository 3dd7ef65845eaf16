"""P-values and classes of a what-if: tests without the terms that are ruled out, and noise in the same set.

A term that may not be used explains nothing in a what-if: the others are tested as if it were not there, so one that
stood in for it may have an effect of its own now. A constrained set is smaller than the whole one, and so is what noise
can reach in it: the terms that look like noise are permuted together and the model is fitted again, as in the fit; the
sets of these models are cut by the same wishes, and the permuted terms measured in what is left. Section "What-ifs" of
docs/method.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from relbounds.design.design_terms import DesignTerm
from relbounds.explore.cutting import Cut, Wish, cut
from relbounds.linear.asked import Asked, RowKey
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.fitted import Fitted
from relbounds.linear.noise.blocks import Together, refit_together, together
from relbounds.linear.noise.evidence import Evidence
from relbounds.linear.noise.facts import Noise, NoiseKey, Population
from relbounds.linear.noise.fwer import Drawing, permuted, pieces_of, refit_permuted
from relbounds.linear.noise.judge import judge
from relbounds.linear.noise.probes import draw_populations
from relbounds.linear.noise.refits import BlockValues, Refit, largest_least_in, largest_over
from relbounds.linear.privileged.models import build_any
from relbounds.linear.ranges import ZERO, Measured
from relbounds.linear.table import Verdicts
from relbounds.noise_intervals import prediction_interval, tail_probability
from relbounds.parallel import run
from relbounds.solver.polytope import Polytope
from relbounds.solver.screen import screen

# Entries of all refitted programs together beyond which a what-if uses the fit's noise, which is never smaller: an
# answer should not take longer than the question.
MOST_ENTRIES = 1_000_000
# A term whose greatest use falls by less than this share is as free as it was.
UNMOVED = 1e-3


def judge_what_if(
    fitted: Fitted,
    measured: Measured,
    pieces: Sequence[Polytope],
    wishes: Mapping[RowKey, Wish],
    draw: bool | None,
) -> tuple[Verdicts, Noise]:
    """Return p-values and classes of every row of a what-if, and what they rest on."""
    if fitted.noise.control == "published":
        return _published(fitted, measured, pieces, wishes)
    gone = frozenset(key for key, (_, most) in wishes.items() if key.label is None and most <= ZERO)
    evidence = replace(evidence_of(fitted), measured=measured, without=gone, fixed=frozenset(wishes))
    if draw is None:
        model = fitted.spec.model
        draw = _count(fitted) * (model.G.size + model.A.size) <= MOST_ENTRIES
    drawing = _drawing(fitted, wishes) if draw else _known(fitted)
    found, noise = judge(evidence, drawing)
    reused = noise.control == "fwer" and not draw and bool(noise.block)
    noise = replace(noise, notes=(_tests_note(noise, gone), *noise.notes, *([REUSED] if reused else [])))
    return _held_against(fitted, measured, wishes, (found, noise)), noise


REUSED = (
    "The noise of this what-if is that of the fit, which is at least as large: with so many rows it is not drawn "
    "anew unless asked for (noise=True)."
)


def _tests_note(noise: Noise, gone: frozenset[RowKey]) -> str:
    """Say what the p-values of a what-if are."""
    names = ", ".join(key.term for key in sorted(gone))
    tests = (
        f"the tests were made anew without the terms that may not be used ({names})"
        if gone
        else "no term is ruled out, so the tests of the data are those of the fit"
    )
    less = (
        " A term that can be used less than without the constraints must also be used more than noise inside them."
        if noise.intervals
        else ""
    )
    return f"P-values of this what-if: {tests}.{less}"


def _held_against(
    fitted: Fitted,
    measured: Measured,
    wishes: Mapping[RowKey, Wish],
    judged: tuple[Verdicts, Noise],
) -> Verdicts:
    """Hold terms that can be used less than before against noise in the constrained set; mark what is fixed."""
    found, noise = judged
    alpha, norm = fitted.options.alpha, fitted.norm
    before = (fitted.table if fitted.before is None else fitted.before)["upper"].to_numpy()
    p_noise, p_adjusted, classes = found.p_noise.copy(), found.p_adjusted.copy(), found.relevance.copy()
    least: dict[RowKey, float] = {}
    for i, row in enumerate(fitted.spec.asked):
        if row.key.part == "adjust":
            continue
        if row.key in wishes or row.key.whole in wishes:
            classes[i], p_noise[i], p_adjusted[i] = "fixed", np.nan, np.nan
            continue
        upper = float(measured.upper[i]) / norm
        if row.key.label is None:
            pair = noise.intervals.get(NoiseKey(row.key.part))
            moved = upper < (1 - UNMOVED) * before[i] - ZERO
            least[row.key] = _reached(pair[1].values, upper) if pair is not None and moved else 0.0
        # no model of the constrained set uses it: nothing here can tell it from noise
        floor = 1.0 if upper <= ZERO else least.get(row.key.whole, 0.0)
        p_noise[i], p_adjusted[i] = max(p_noise[i], floor), max(p_adjusted[i], floor)
        if p_adjusted[i] > alpha:
            classes[i] = "irrelevant"
    return Verdicts(p_noise, p_adjusted, classes)


def _reached(values: FloatArray, upper: float) -> float:
    """Return the share of refits whose noise reaches a value, one added above and below; 0 where none does.

    Few refits may grant the wishes: what is above all of them is not held back by their number.
    """
    reached = int(np.sum(values >= upper - ZERO))
    return (1 + reached) / (1 + len(values)) if reached else 0.0


def _published(
    fitted: Fitted, measured: Measured, pieces: Sequence[Polytope], wishes: Mapping[RowKey, Wish]
) -> tuple[Verdicts, Noise]:
    """Compare with permuted features inside the budgets and the wishes."""
    options, norm = fitted.options, fitted.norm
    populations = _probes(fitted, measured, pieces, wishes)
    intervals = {
        key: (
            prediction_interval(one.lower, options.level, options.interval),
            prediction_interval(one.upper, options.level, options.interval),
        )
        for key, one in populations.items()
    }
    rows = fitted.spec.asked
    p = np.full(len(rows), np.nan)
    classes = np.full(len(rows), "", dtype=object)
    for i, row in enumerate(rows):
        if row.key.part == "adjust":
            continue
        if row.key in wishes or row.key.whole in wishes:
            classes[i] = "fixed"
            continue
        pair = intervals.get(NoiseKey(row.key.part, row.key.term)) or intervals.get(NoiseKey(row.key.part))
        upper, lower = float(measured.upper[i]) / norm, float(measured.lower[i]) / norm
        p[i] = tail_probability(np.array([upper]), pair[1])[0] if pair is not None else 1.0
        relevant = pair is not None and upper > pair[1].upper + ZERO
        floor = pair[0].upper if pair is not None and np.isfinite(pair[0].upper) else 0.0
        classes[i] = ("strong" if lower > floor + ZERO else "weak") if relevant else "irrelevant"
    noise = replace(fitted.noise, intervals=intervals, populations=dict(populations), notes=())
    return Verdicts(p, p, classes), noise


def cuts_of(rows: Sequence[Asked], wishes: Mapping[RowKey, Wish], norm: float) -> list[Cut]:
    """Return wishes as cuts in units of the variables."""
    place = {row.key: row for row in rows}
    return [Cut(place[key], low * norm, high * norm) for key, (low, high) in wishes.items()]


def _count(fitted: Fitted) -> int:
    """Return how many models are fitted to permuted noise."""
    return int(np.ceil(1 / fitted.options.alpha)) - 1


def _drawing(fitted: Fitted, wishes: Mapping[RowKey, Wish]) -> Drawing:
    """Return a way to refit models to permuted terms whose sets are cut by the same wishes."""

    def draw(evidence: Evidence, terms: Sequence[DesignTerm], block: tuple[int, ...]) -> list[BlockValues]:
        count, part = _count(fitted), terms[0].part
        some = tuple(terms[t] for t in block)
        keys = {RowKey(part, term.name) for term in some} - set(wishes)
        rows = [row for row in evidence.spec.asked if row.key in keys]
        off = _switched_off(evidence, wishes)
        task = together(evidence, part, rows, off) if off is not None and rows else None
        found = run(
            _refit_cuts,
            pieces_of(task, count),
            shared=(evidence, some, dict(wishes), task),
            n_jobs=fitted.options.n_jobs,
            client=fitted.options.client,
        )
        return [one for piece in found for one in piece if one is not None]

    return draw


def _switched_off(evidence: Evidence, wishes: Mapping[RowKey, Wish]) -> tuple[int, ...] | None:
    """Return the variables that are held at 0 where that is all that is asked for, None where more is."""
    if set(wishes) != evidence.without:
        return None
    rows = [row for row in evidence.spec.asked if row.key in wishes]
    return tuple(sorted({j for row in rows for f in row.functionals for j in f.variables}))


def _known(fitted: Fitted) -> Drawing:
    """Return the noise of the fit, which is at least as large as that of a what-if."""

    def know(evidence: Evidence, terms: Sequence[DesignTerm], block: tuple[int, ...]) -> list[BlockValues]:
        known = fitted.noise.populations.get(NoiseKey(terms[0].part))
        if known is None:
            return []
        ends = zip(known.upper * fitted.norm, known.lower * fitted.norm, strict=True)
        return [BlockValues(float(upper), float(lower)) for upper, lower in ends]

    return know


def evidence_of(fitted: Fitted) -> Evidence:
    """Return a fit as what noise is judged on."""
    return Evidence(
        fitted.design,
        fitted.options,
        fitted.spec,
        fitted.solution,
        fitted.norm,
        fitted.delta,
        fitted.polytope,
        fitted.measured,
        fitted.memory,
    )


def _refit_cuts(
    draws: range, shared: tuple[Evidence, tuple[DesignTerm, ...], dict[RowKey, Wish], Together | None]
) -> list[BlockValues | None]:
    """Return what :func:`_refit_cut` does for several draws, in one run where that can be."""
    evidence, block, wishes, task = shared
    found: list[BlockValues | None] = [None] * len(draws)
    if task is not None:
        columns = [j for term in block for j in term.columns]
        found = refit_together(evidence, task, columns, permuted(evidence, block[0].part, columns, draws))
    return [
        _refit_cut(number, (evidence, block, wishes)) if one is None else one
        for number, one in zip(draws, found, strict=True)
    ]


def _refit_cut(
    number: int, shared: tuple[Evidence, tuple[DesignTerm, ...], dict[RowKey, Wish]]
) -> BlockValues | None:
    """Return the largest least and the largest greatest use of permuted terms in one refitted and cut set.

    None where no refitted model grants the wishes.
    """
    evidence, block, wishes = shared
    part = block[0].part
    found = refit_permuted(evidence, part, [j for term in block for j in term.columns], number)
    if found.polytope is None:
        return BlockValues(0.0, 0.0)
    solver, norm = evidence.options.solver, evidence.norm
    pieces = cut([found.polytope], cuts_of(found.spec.asked, wishes, norm), solver, norm)
    keys = {RowKey(part, term.name) for term in block} - set(wishes)
    rows = [row for row in found.spec.asked if row.key in keys]
    if not pieces or not rows:
        return None
    # bounds that hold in the whole set hold in what is left of it
    known = screen(found.polytope, found.solution)
    least, most = [], []
    for piece in pieces:
        here = Refit(found.spec, replace(found.solution, v=piece.start), piece)
        most.append(largest_over(piece, rows, known, solver)[0])
        least.append(largest_least_in(here, rows, solver))
    return BlockValues(max(most), min(least))


def _probes(
    fitted: Fitted, measured: Measured, pieces: Sequence[Polytope], wishes: Mapping[RowKey, Wish]
) -> dict[NoiseKey, Population]:
    """Return what single permuted features reach inside the budgets and the wishes, as published."""
    # a permuted column tells rows apart that were equal before
    spec = build_any(fitted.design, fitted.spec.kind, merged=False)
    whole = replace(pieces[0], model=spec.model, active=None, start=pieces[0].start[: spec.model.q])
    cuts = cuts_of(spec.asked, wishes, fitted.norm)
    unmerged = cut([whole], cuts, fitted.options.solver, fitted.norm) or (whole,)
    held = {key.term for key in wishes if key.label is None}
    free = tuple(t for t in fitted.design.design_terms if t.name not in held)
    evidence = replace(
        evidence_of(fitted),
        design=replace(fitted.design, design_terms=free),
        spec=spec,
        polytope=unmerged[0],
        measured=measured,
    )
    return dict(draw_populations(evidence))
