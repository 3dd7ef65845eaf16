"""What noise can reach in a constrained set, and what that makes of every row.

A constrained set is smaller than the whole one, and so is what noise can reach in it. The terms that look like noise
in the fit are permuted together and the model is fitted again, as in the fit; the sets of these models are cut by the
same wishes, and the permuted terms measured in what is left. Section "What-ifs" of docs/method.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from relbounds.explore.cutting import Cut, Wish, cut
from relbounds.linear.asked import Asked, RowKey
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.fitted import Fitted
from relbounds.linear.noise.blocks import Refit, largest_least_in
from relbounds.linear.noise.evidence import Evidence
from relbounds.linear.noise.facts import Noise, NoiseKey, Population
from relbounds.linear.noise.fwer import refit_permuted
from relbounds.linear.noise.judge import own_p_values
from relbounds.linear.noise.probes import draw_populations
from relbounds.linear.privileged.models import build_any
from relbounds.linear.ranges import ZERO, Measured, greatest
from relbounds.linear.table import Verdicts
from relbounds.noise_intervals import prediction_interval, tail_probability
from relbounds.parallel import run
from relbounds.solver.largest import push_largest
from relbounds.solver.polytope import Polytope
from relbounds.solver.screen import screen

# Entries of all refitted programs together beyond which a what-if uses the fit's noise, which is never smaller: an
# answer should not take longer than the question.
MOST_ENTRIES = 1_000_000
# A term whose greatest use falls by less than this share is as free as it was.
UNMOVED = 1e-3


@dataclass(frozen=True)
class Reached:
    """What noise reaches in a constrained set, by part: least and greatest use, as shares of the norm."""

    populations: Mapping[NoiseKey, Population]
    drawn: bool


def judge_what_if(
    fitted: Fitted,
    measured: Measured,
    pieces: Sequence[Polytope],
    wishes: Mapping[RowKey, Wish],
    draw: bool | None,
) -> tuple[Verdicts, Noise]:
    """Return p-values and classes of every row of a what-if, and what they rest on."""
    if fitted.noise.control == "published":
        reached = _probes(fitted, measured, pieces, wishes)
    elif fitted.noise.control == "fwer" and fitted.noise.block:
        reached = _refits(fitted, wishes, draw)
    else:
        reached = Reached({}, True)
    options = fitted.options
    published = fitted.noise.control == "published"
    level, kind = (options.level, options.interval) if published else (1 - options.alpha, "order")
    intervals = {
        key: (prediction_interval(one.lower, level, kind), prediction_interval(one.upper, level, kind))
        for key, one in reached.populations.items()
    }
    noise = replace(
        fitted.noise,
        intervals=intervals,
        populations=dict(reached.populations),
        notes=_notes(fitted, reached),
    )
    return _verdicts(fitted, measured, wishes, noise), noise


def _notes(fitted: Fitted, reached: Reached) -> tuple[str, ...]:
    """Say what the p-values of a what-if are."""
    if fitted.noise.control == "published":
        return ()
    said = (
        "P-values of a what-if: scores test the data and say the same in every set of models, so a term that is as "
        "free as without the constraints keeps what they say."
        + (
            " One that can be used less is held against noise inside the constraints; above all of it, it is relevant."
            if reached.populations
            else ""
        ),
    )
    if reached.drawn:
        return said
    return (
        *said,
        "The noise of this what-if is that of the fit, which is at least as large: with so many rows it is not drawn "
        "anew unless asked for (noise=True).",
    )


def _verdicts(fitted: Fitted, measured: Measured, wishes: Mapping[RowKey, Wish], noise: Noise) -> Verdicts:
    """Judge every row by its use beside that of noise here, or, where it is as free as before, as the fit did."""
    alpha, norm = fitted.options.alpha, fitted.norm
    before = fitted.table if fitted.before is None else fitted.before
    was = before[["part", "upper", "p_noise", "p_adjusted"]]
    rows = fitted.spec.asked
    p_noise, p_adjusted = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    classes = np.full(len(rows), "", dtype=object)
    upper, lower = measured.upper / norm, measured.lower / norm
    terms: dict[RowKey, float] = {}
    for i, row in enumerate(rows):
        if row.key.part == "adjust":
            continue
        old = was.iloc[i]
        pair = noise.intervals.get(NoiseKey(row.key.part, row.key.term)) or noise.intervals.get(
            NoiseKey(row.key.part)
        )
        floor = pair[0].upper if pair is not None and np.isfinite(pair[0].upper) else 0.0
        if row.key.label is not None:
            p_noise[i] = old["p_noise"]
            p_adjusted[i] = max(float(old["p_adjusted"]), terms[row.key.whole])
        else:
            moved = upper[i] < (1 - UNMOVED) * old["upper"] - ZERO
            p_noise[i], p_adjusted[i] = _p_values(noise, pair, float(upper[i]), old, alpha if moved else 1.0)
            terms[row.key] = float(p_adjusted[i])
        if upper[i] <= ZERO and noise.control != "published":
            # no model of the constrained set uses it: nothing here can tell it from noise
            p_noise[i] = p_adjusted[i] = 1.0
        relevant = p_adjusted[i] <= alpha
        if noise.control == "published":
            relevant = pair is not None and upper[i] > pair[1].upper + ZERO
        strong = relevant and lower[i] > floor + ZERO
        classes[i] = "strong" if strong else "weak" if relevant else "irrelevant"
        if row.key in wishes or row.key.whole in wishes:
            classes[i], p_noise[i], p_adjusted[i] = "fixed", np.nan, np.nan
    own = _own(fitted, wishes, dict(zip([row.key for row in rows], classes, strict=True)))
    for i, row in enumerate(rows):
        if classes[i] == "strong" and own.get(row.key.whole, 0.0) > alpha:
            classes[i] = "weak"
    return Verdicts(p_noise, p_adjusted, classes)


def _own(fitted: Fitted, wishes: Mapping[RowKey, Wish], classes: Mapping[RowKey, str]) -> dict[RowKey, float]:
    """Return p-values of effects of their own for the terms that every model of the constrained set needs.

    Each is tested beside the other relevant terms of the fit, but for those that the wishes rule out: where a term may
    not be used, the one that takes its place has the effect.
    """
    if fitted.noise.control == "published":
        return {}
    before = fitted.table if fitted.before is None else fitted.before
    terms = before[(before["row"] == "term") & before["relevance"].isin(["strong", "weak"])]
    out: dict[RowKey, float] = {}
    for part, own in terms.groupby("part"):
        keys = [RowKey(str(part), term) for term in own["term"]]
        beside = [key for key in keys if key not in wishes or wishes[key][1] > ZERO]
        needed = [key for key in beside if classes.get(key) == "strong"]
        known = fitted.noise.own
        if beside == keys and all(key in known for key in needed):
            out.update({key: known[key] for key in needed})
        else:
            out.update(own_p_values(evidence_of(fitted), beside, needed))
    return out


def _p_values(
    noise: Noise, pair: tuple | None, upper: float, old: Mapping, least: float
) -> tuple[float, float]:
    """Return the p-values of a term: against noise here; one that is above it, or as free as before, keeps its own.

    `least` is the greatest p-value of a term that is used less than before and still called relevant.
    """
    if noise.control == "published":
        p = float(tail_probability(np.array([upper]), pair[1])[0]) if pair is not None else 1.0
        return p, p
    if pair is None or not len(pair[1].values):
        # no noise to compare with: scores alone have spoken, and they do not depend on the set
        return float(old["p_noise"]), float(old["p_adjusted"])
    values = pair[1].values
    reached = int(np.sum(values >= upper - ZERO))
    here = float((1 + reached) / (1 + len(values)))
    # few refits may grant the wishes: what is above all of them is not held back by their number
    if reached and here > least:
        return here, here
    # what the data said of a term does not depend on the set
    return min(float(old["p_noise"]), here), min(float(old["p_adjusted"]), here)


def cuts_of(rows: Sequence[Asked], wishes: Mapping[RowKey, Wish], norm: float) -> list[Cut]:
    """Return wishes as cuts in units of the variables."""
    place = {row.key: row for row in rows}
    return [Cut(place[key], low * norm, high * norm) for key, (low, high) in wishes.items()]


def _refits(fitted: Fitted, wishes: Mapping[RowKey, Wish], draw: bool | None) -> Reached:
    """Return what permuted terms reach in refitted sets that are cut by the same wishes."""
    count = int(np.ceil(1 / fitted.options.alpha)) - 1
    model = fitted.spec.model
    if draw is None:
        draw = count * (model.G.size + model.A.size) <= MOST_ENTRIES
    if not draw:
        return Reached(fitted.noise.populations, False)
    out = {}
    for part in dict.fromkeys(part for part, _ in fitted.noise.block):
        found = run(
            _refit_cut,
            list(range(count)),
            shared=(evidence_of(fitted), part, fitted.noise.block, dict(wishes)),
            n_jobs=fitted.options.n_jobs,
            client=fitted.options.client,
        )
        values = np.array([pair for pair in found if pair is not None]).reshape(-1, 2)
        infeasible = count - len(values)
        out[NoiseKey(part)] = Population(values[:, 0], values[:, 1], count, infeasible)
    return Reached(out, True)


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
    )


def _refit_cut(
    number: int, shared: tuple[Evidence, str, tuple[tuple[str, str], ...], dict[RowKey, Wish]]
) -> tuple[float, float] | None:
    """Return the largest least and the largest greatest use of permuted terms in one refitted and cut set.

    None where no refitted model grants the wishes.
    """
    evidence, part, block, wishes = shared
    terms = [term for own, term in block if own == part]
    own = {term.name: term.columns for term in evidence.design.design_terms if term.part == part}
    found = refit_permuted(evidence, part, [j for term in terms for j in own[term]], number)
    if found.polytope is None:
        return 0.0, 0.0
    solver, norm = evidence.options.solver, evidence.norm
    pieces = cut([found.polytope], cuts_of(found.spec.asked, wishes, norm), solver, norm)
    if not pieces:
        return None
    keys = {RowKey(part, term) for term in terms} - set(wishes)
    rows = [row for row in found.spec.asked if row.key in keys]
    if not rows:
        return None
    # bounds that hold in the whole set hold in what is left of it
    known = screen(found.polytope, found.solution)
    least, most = [], []
    for piece in pieces:
        here = Refit(found.spec, replace(found.solution, v=piece.start), piece)
        most.append(_largest(piece, rows, known, solver))
        least.append(largest_least_in(here, rows, solver))
    return min(least) / norm, max(most) / norm


def _largest(piece: Polytope, rows: Sequence[Asked], known: FloatArray, solver: str) -> float:
    """Return the largest of the rows' greatest values, by a race of all their linear functions."""
    exact = [f for row in rows for f in row.functionals if f.exact]
    best = 0.0
    if exact:
        directions = np.vstack([f.directions(piece.model.q) for f in exact])
        caps = np.concatenate([abs(f.tops) @ known[list(f.variables)] for f in exact])
        best = float(push_largest(piece, directions, solver, known=caps).value)
    others = [row for row in rows if not all(f.exact for f in row.functionals)]
    return max([best, *(greatest(piece, row, solver) for row in others)])


def _probes(
    fitted: Fitted, measured: Measured, pieces: Sequence[Polytope], wishes: Mapping[RowKey, Wish]
) -> Reached:
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
    return Reached(draw_populations(evidence), True)
