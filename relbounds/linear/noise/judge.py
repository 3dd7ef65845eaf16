"""Classes and p-values of every row of a table, by the control that the options ask for.

Section "Noise" of docs/method.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from relbounds.design import Design
from relbounds.design.design_terms import DesignTerm
from relbounds.errors import shortened
from relbounds.linear.asked import RowKey
from relbounds.linear.families import family_of
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.model import build
from relbounds.linear.noise.below import row_p_values
from relbounds.linear.noise.evidence import Evidence
from relbounds.linear.noise.facts import Noise, NoiseKey
from relbounds.linear.noise.fwer import NAMED, Drawing, Tested, block_values, test_terms
from relbounds.linear.noise.levels import holm
from relbounds.linear.noise.many import ManyFound, many_test, step_up
from relbounds.linear.noise.own import own_effects
from relbounds.linear.noise.probes import draw_populations, probe_notes
from relbounds.linear.noise.smooth import Response
from relbounds.linear.ranges import ZERO
from relbounds.linear.table import Verdicts
from relbounds.noise_intervals import prediction_interval, tail_probability
from relbounds.options import Options
from relbounds.seeds import stream
from relbounds.solver.optimum import fit_baseline

__all__ = ["Evidence", "judge", "response_of"]
# Permutations of each single test of many.
MANY_DRAWS = 199


def judge(evidence: Evidence, drawing: Drawing = block_values) -> tuple[Verdicts, Noise]:
    """Return p-values and classes of every row, and what they rest on; `drawing` says how noise is refitted."""
    if evidence.options.control == "fwer":
        return _fwer(evidence, drawing)
    return _fdr(evidence) if evidence.options.control == "fdr" else _published(evidence)


class _Sheet:
    """The verdicts while they are written, row by row."""

    def __init__(self, evidence: Evidence) -> None:
        rows = evidence.spec.asked
        self.evidence = evidence
        self.place = {row.key: i for i, row in enumerate(rows)}
        self.p_noise = np.full(len(rows), np.nan)
        self.p_adjusted = np.full(len(rows), np.nan)
        self.relevance = np.full(len(rows), "", dtype=object)

    def write(self, key: RowKey, p_noise: float, p_adjusted: float, relevant: bool, strong: bool) -> None:
        """Write the verdict on a row."""
        i = self.place[key]
        self.p_noise[i], self.p_adjusted[i] = p_noise, p_adjusted
        self.relevance[i] = "strong" if relevant and strong else "weak" if relevant else "irrelevant"

    def needed(self, key: RowKey, floor: float = 0.0) -> bool:
        """Say whether every equivalent model uses a row, beyond what noise is used."""
        least = self.evidence.measured.lower[self.place[key]] / self.evidence.norm
        return bool(least > max(floor, 0.0) + ZERO)

    def is_strong(self, key: RowKey) -> bool:
        """Say whether a row was called strong."""
        return bool(self.relevance[self.place[key]] == "strong")

    @property
    def verdicts(self) -> Verdicts:
        return Verdicts(self.p_noise, self.p_adjusted, self.relevance)


def tested_terms(evidence: Evidence) -> list[DesignTerm]:
    """Return the terms that are tested, without those that a what-if rules out: they explain nothing in it."""
    every = terms_of(evidence.design, bool(evidence.spec.functions))
    return [term for term in every if RowKey(term.part, term.name) not in evidence.without]


def terms_of(design: Design, functions: bool) -> list[DesignTerm]:
    """Return the terms that can be tested: regular ones, and privileged ones where the model reads them."""
    parts = ("regular", "privileged") if functions else ("regular",)
    return [term for term in design.design_terms if term.part in parts]


def response_of(evidence: Evidence) -> Response:
    """Return the response as the smooth models of the score test read it."""
    return design_response(evidence.design)


def design_response(design: Design) -> Response:
    """Return the response of a design as the smooth models of the score test read it."""
    kind = family_of(design.family).smooth
    weights = None if np.all(design.weights == design.weights[0]) else design.weights
    if kind == "survival":
        assert design.times is not None
        return Response(kind, design.times[0], weights, event=design.times[1].astype(bool))
    if kind == "regression":
        return Response(kind, (design.y - design.y_center) / design.y_scale, weights)
    if design.interval is not None:
        low, high = design.interval
        return Response(kind, low.astype(float), weights, high=high.astype(float))
    return Response(kind, design.y.astype(float), weights)


def slacks_of(evidence: Evidence) -> list[Response]:
    """Return the slacks of the model without privileged features: what these are to explain.

    Each observation has a slack on either side. Their difference says which way it goes wrong, their sum how far;
    without sides (nominal responses) there is only the latter.
    """
    spec = build(evidence.design, replace(evidence.spec.kind, slack=False))
    v = fit_baseline(spec.model, evidence.solution.C).v
    above, below = (_without_rounding(spec.slacks(v, side)) for side in (1.0, -1.0))
    weights = evidence.design.weights
    own = None if np.all(weights == weights[0]) else weights
    kinds = (above - below, above + below) if below.any() else (above,)
    return [Response("regression", slack, own) for slack in kinds]


def _without_rounding(slacks: FloatArray) -> FloatArray:
    """Return slacks with 0 where rounding leaves something: tests go by ranks, in which these would all differ."""
    return np.where(slacks > ZERO, slacks, 0.0)


def _test_privileged(evidence: Evidence, terms: Sequence[DesignTerm], drawing: Drawing) -> Tested:
    """Test privileged terms against both kinds of slack, each with its share of alpha."""
    found = [test_terms(evidence, terms, response, drawing) for response in slacks_of(evidence)]
    share = len(found)
    return replace(
        found[0],
        p=np.minimum(1.0, share * np.min([one.p for one in found], axis=0)),
        p_adjusted=np.minimum(1.0, share * np.min([one.p_adjusted for one in found], axis=0)),
        # the refits of one block serve every kind
        refits=sum(one.refits for one in {one.block: one for one in found}.values()),
    )


def _published(evidence: Evidence) -> tuple[Verdicts, Noise]:
    """Compare with permuted features inside the budgets of the fit, as the papers do."""
    options, measured, norm = evidence.options, evidence.measured, evidence.norm
    populations = draw_populations(evidence)
    intervals = {
        key: (
            prediction_interval(one.lower, options.level, options.interval),
            prediction_interval(one.upper, options.level, options.interval),
        )
        for key, one in populations.items()
    }
    rows = evidence.spec.asked
    upper = measured.upper / norm
    p = np.full(len(rows), np.nan)
    own = [
        intervals.get(NoiseKey(row.key.part, row.key.term)) or intervals.get(NoiseKey(row.key.part))
        for row in rows
    ]
    for i, pair in enumerate(own):
        if pair is not None:
            p[i] = tail_probability(upper[i : i + 1], pair[1])[0]
    whole = [i for i, row in enumerate(rows) if row.key.label is None and own[i] is not None]
    adjusted = dict(zip([rows[i].key for i in whole], step_up(p[whole]), strict=True))
    sheet = _Sheet(evidence)
    for i, row in enumerate(rows):
        pair = own[i]
        if pair is None:
            continue
        relevant = upper[i] > pair[1].upper + ZERO
        q = adjusted[row.key] if row.key.label is None else max(p[i], adjusted[row.key.whole])
        sheet.write(row.key, float(p[i]), float(q), bool(relevant), sheet.needed(row.key, pair[0].upper))
    notes = tuple(probe_notes(populations, options))
    return sheet.verdicts, Noise("published", intervals, populations, notes=notes)


def _fwer(evidence: Evidence, drawing: Drawing) -> tuple[Verdicts, Noise]:
    """The ordered block test: effects of their own by scores, stand-ins by refitted blocks."""
    sheet = _Sheet(evidence)
    found: list[Tested] = []
    own: dict[RowKey, float] = {}
    for part in ("regular", "privileged"):
        terms = [term for term in tested_terms(evidence) if term.part == part]
        if terms:
            if part == "privileged":
                found.append(_test_privileged(evidence, terms, drawing))
            else:
                found.append(test_terms(evidence, terms, response_of(evidence), drawing))
            own.update(_write_tested(sheet, terms, found[-1]))
    noise = Noise(
        "fwer",
        {NoiseKey(one.part): one.intervals for one in found if one.intervals is not None},
        {NoiseKey(one.part): one.population for one in found if one.population is not None},
        permutations=max((one.permutations for one in found), default=0),
        refits=sum(one.refits for one in found),
        block=tuple((one.part, name) for one in found for name in one.block),
        own=own,
        notes=(*(note for one in found for note in one.notes), *own_notes(evidence, own)),
    )
    return sheet.verdicts, noise


def _write_tested(sheet: _Sheet, terms: Sequence[DesignTerm], found: Tested) -> dict[RowKey, float]:
    """Write the verdicts on a part's terms; return the p-values of effects of their own."""
    alpha = sheet.evidence.options.alpha
    keys = [RowKey(term.part, term.name) for term in terms]
    relevant = [key for key, p in zip(keys, found.p_adjusted, strict=True) if p <= alpha]
    own = own_p_values(sheet.evidence, relevant, [key for key in relevant if sheet.needed(key, found.floor)])
    for k, key in enumerate(keys):
        sheet.write(
            key,
            float(found.p[k]),
            float(found.p_adjusted[k]),
            key in relevant,
            own.get(key, 1.0) <= alpha,
        )
    _write_levels(sheet, terms, found.p_adjusted)
    return own


def own_p_values(
    evidence: Evidence, relevant: Sequence[RowKey], needed: Sequence[RowKey]
) -> dict[RowKey, float]:
    """Return p-values of effects of their own, for terms that every equivalent model needs.

    Parameters
    ----------
    evidence : Evidence
    relevant : sequence of RowKey
        The relevant terms of one part, which the p-values are adjusted for.
    needed : sequence of RowKey
        Those of them that are tested. The others are not strong, whatever a test would say.
    """
    if not needed:
        return {}
    asked = ("own", tuple(relevant), tuple(needed), evidence.without)
    found: dict[RowKey, float] = evidence.memory.recall(
        asked, lambda: _own_p_values(evidence, relevant, needed)
    )
    return dict(found)


def _own_p_values(
    evidence: Evidence, relevant: Sequence[RowKey], needed: Sequence[RowKey]
) -> dict[RowKey, float]:
    design, options = evidence.design, evidence.options
    part = needed[0].part
    terms = [term for term in tested_terms(evidence) if term.part == part]
    place = {RowKey(term.part, term.name): t for t, term in enumerate(terms)}
    responses = slacks_of(evidence) if part == "privileged" else [response_of(evidence)]
    found = own_effects(
        [columns_of(design, term) for term in terms],
        responses,
        {place[key]: _others(terms, place[key]) for key in relevant},
        [place[key] for key in needed],
        alpha=options.alpha,
        adjusted=step_up if options.control == "fdr" else holm,
        rng=[
            stream(options.seed, "own effects", int(part == "privileged"), k) for k in range(len(responses))
        ],
        adjust=design.adjust if design.adjust.shape[1] else None,
        cluster=design.cluster,
        n_jobs=options.n_jobs,
        client=options.client,
    )
    return {key: found[place[key]] for key in needed}


def _others(terms: Sequence[DesignTerm], t: int) -> list[int]:
    """Return the terms that could explain one: all others, but for those that hold it.

    An interaction holds its main effects: its columns say all that theirs say, and nothing would be left of them.
    """
    own = set(terms[t].variables)
    return [k for k, term in enumerate(terms) if k != t and not own < set(term.variables)]


def own_notes(evidence: Evidence, own: Mapping[RowKey, float]) -> tuple[str, ...]:
    """Say which terms every equivalent model needs without an effect of their own."""
    alpha, fixed = evidence.options.alpha, evidence.fixed
    each = [f"{key.term} ({p:.2g})" for key, p in own.items() if p > alpha and key not in fixed]
    if not each:
        return ()
    return (
        "Every equally good model uses these terms, but beside the other terms no effect of their own was "
        f"shown (p-value in brackets), so they are weak: {shortened(each, NAMED)}.",
    )


def _write_levels(sheet: _Sheet, terms: Sequence[DesignTerm], adjusted: FloatArray) -> None:
    """Judge the rows under terms: each against noise of the same level, and never better than its term."""
    evidence = sheet.evidence
    several = [k for k, term in enumerate(terms) if len(term.columns) > 1]
    if not several:
        return
    kept = [k for k in range(len(terms)) if adjusted[k] <= evidence.options.alpha]
    for k in several:
        term = terms[k]
        others = [terms[j] for j in kept if j != k]
        p, q = row_p_values(evidence, term, others, response_of(evidence))
        for label, one, two in zip(term.labels, p, q, strict=True):
            worst = max(float(two), float(adjusted[k]))
            key = RowKey(term.part, term.name, label)
            strong = sheet.is_strong(key.whole) and sheet.needed(key)
            sheet.write(key, float(one), worst, worst <= evidence.options.alpha, strong)


def _fdr(evidence: Evidence) -> tuple[Verdicts, Noise]:
    """Single terms against their permuted values, Benjamini-Hochberg."""
    sheet = _Sheet(evidence)
    notes: list[str] = []
    terms = tested_terms(evidence)
    found = many_terms(evidence, terms)
    own: dict[RowKey, float] = {}
    keys = [RowKey(term.part, term.name) for term in terms]
    for part in ("regular", "privileged"):
        relevant = [
            key
            for key, p in zip(keys, found.p_adjusted, strict=True)
            if key.part == part and p <= evidence.options.alpha
        ]
        own.update(own_p_values(evidence, relevant, [key for key in relevant if sheet.needed(key)]))
    for k, key in enumerate(keys):
        p, q = float(found.p[k]), float(found.p_adjusted[k])
        alpha = evidence.options.alpha
        sheet.write(key, p, q, q <= alpha, own.get(key, 1.0) <= alpha)
    _write_levels(sheet, terms, found.p_adjusted)
    notes.append(
        "control='fdr': each term is tested by itself, stand-ins of relevant terms included; the expected share of "
        f"noise among the relevant is at most {evidence.options.alpha:g}. The permuted values of all terms are pooled "
        f"({found.draws} permutations of {len(terms)} terms)."
    )
    # permuted values of all terms are pooled: a p-value can be as small as one over their number
    notes += own_notes(evidence, own)
    return sheet.verdicts, Noise("fdr", permutations=found.draws * len(terms), own=own, notes=tuple(notes))


def many_terms(evidence: Evidence, terms: Sequence[DesignTerm]) -> ManyFound:
    """Test each term by itself; once for all tolerances."""
    found: ManyFound = evidence.memory.recall(
        many_key(evidence.without), lambda: many_of(None, (evidence.design, evidence.options, terms))
    )
    return found


def many_key(without: frozenset[RowKey] = frozenset()) -> Hashable:
    """Return what the tests of single terms are remembered by."""
    return "many", without


def many_of(_: None, shared: tuple[Design, Options, Sequence[DesignTerm]]) -> ManyFound:
    """Test each term by itself."""
    design, options, terms = shared
    return many_test(
        [columns_of(design, term) for term in terms],
        design_response(design),
        draws=MANY_DRAWS,
        rng=stream(options.seed, "score test"),
        adjust=design.adjust if design.adjust.shape[1] else None,
        cluster=design.cluster,
    )


def columns_of(design: Design, term: DesignTerm) -> FloatArray:
    """Return the columns of a term."""
    values = design.X if term.part == "regular" else design.Z
    return values[:, list(term.columns)]
