"""The published noise: features permuted one at a time inside the budgets of the fit.

A feature is drawn at random and its column permuted; its relevance interval inside the set whose budgets come from the
unpermuted best model shows how relevant noise can look. A probe whose set is empty was needed by every equivalent
model: it is counted and left out. Section "Noise" of docs/method.md, part "published".
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from relbounds.design.design_terms import DesignTerm
from relbounds.errors import RelboundsWarning
from relbounds.linear.asked import Asked, RowKey
from relbounds.linear.ends import greatest, least
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.model import Spec
from relbounds.linear.noise.evidence import Evidence
from relbounds.linear.noise.facts import NoiseKey, Population
from relbounds.linear.privileged.models import build_any
from relbounds.options import Options
from relbounds.parallel import chunks, run
from relbounds.progress import stage
from relbounds.seeds import stream
from relbounds.solver.changes import begin_changes, leave_out, push_begun, push_changes
from relbounds.solver.columns import join_columns, put_columns
from relbounds.solver.copies import fit_for_changes
from relbounds.solver.hard_rows import near_hard_rows
from relbounds.solver.polytope import Polytope, Ranges
from relbounds.solver.races import Begun, Gone, join_begun
from relbounds.solver.starts import prepare

# Draws per task: a matter of the problem's size alone, so that the work never depends on the number of workers.
CHUNK, LARGE_CHUNK, LARGE = 100, 10, 1_000_000
# Draws at most, as a multiple of the wanted number of feasible probes.
MOST_DRAWS = 10
# The same for a term with several columns: if it is needed, every draw is infeasible.
MOST_TERM_DRAWS = 2
# Feasible probes, as a share of those that one dispensable feature would give, below which there is none such.
RARE = 0.5
STREAM = {"regular": "regular probes", "privileged": "privileged probes"}


@dataclass(frozen=True)
class Source:
    """What probes of one part are drawn from: the program without merged rows, its set, the part's columns.

    `place` says where the variables of the program stand in the set, `rows` are the hard rows that it comes near.
    """

    part: str
    spec: Spec
    polytope: Polytope
    place: np.ndarray
    columns: FloatArray
    norm: float
    options: Options
    rows: np.ndarray


def draw_populations(evidence: Evidence) -> dict[NoiseKey, Population]:
    """Return the relevance of permuted features: pooled for terms of one column, by term for the others."""
    design, spec = evidence.design, evidence.spec
    own = spec
    polytope = evidence.polytope
    if spec.merged.of is not None:
        # a permuted column tells rows apart that were equal before
        own = build_any(design, spec.kind, merged=False)
        polytope = replace(polytope, model=own.model, active=None)
    few, place = fit_for_changes(polytope)
    rows = near_hard_rows(prepare(few))[0] if spec.functions else np.arange(few.model.a.size)
    out = {}
    for part, columns in (("regular", design.X), ("privileged", design.Z)):
        terms = [t for t in design.design_terms if t.part == part]
        if not terms or (part == "privileged" and not spec.functions):
            continue
        source = Source(part, own, few, place, columns, evidence.norm, evidence.options, rows)
        alone = [t for t in terms if len(t.columns) == 1]
        if alone:
            out[NoiseKey(part)] = _pooled(source, [t.columns[0] for t in alone])
        for term in terms:
            if len(term.columns) > 1:
                out[NoiseKey(part, term.name)] = _of_term(replace(source, polytope=polytope), term)
    return out


def _pooled(source: Source, columns: Sequence[int]) -> Population:
    """Permute columns drawn at random until enough of them give a non-empty set."""
    options, polytope, part = source.options, source.polytope, source.part
    most = MOST_DRAWS * options.probes
    draws = infeasible = 0
    size = LARGE_CHUNK if polytope.model.G.size + polytope.model.A.size > LARGE else CHUNK
    # what is left without a feature decides most of its probes, so it is worked out once
    looked_at = list(columns)
    if len(columns) > options.probes:
        # of many features only those are looked at that will be drawn to begin with
        picked = {columns[_pick(options.seed, part, draw, len(columns))[0]] for draw in range(options.probes)}
        looked_at = [k for k in columns if k in picked]
    index = source.place[np.array([source.spec.variables(part, k) for k in looked_at])]
    without = leave_out(polytope, np.unique(index, axis=0), source.rows)
    shared = (source, tuple(columns), without)
    found: list[Ranges] = []
    waiting: list[Begun] = []
    with stage(f"probes, {part}", options.probes, options.progress) as done:
        while len(found) < options.probes and (waiting or draws < most):
            count = len(found) + sum(len(one) for one in waiting)
            if count < options.probes and draws < most:
                # as many as should do, going by the share that was feasible so far
                rate = max(count / draws, 0.1) if draws else 1.0
                wave = min(math.ceil((options.probes - count) / rate), most - draws)
                tasks = [range(draws + piece.start, draws + piece.stop) for piece in chunks(wave, size)]
                pieces = run(_probe, tasks, shared=shared, n_jobs=options.n_jobs, client=options.client)
                draws += wave
                waiting += [piece for piece in pieces if isinstance(piece, Begun)]
                tried = wave - sum(len(piece) for piece in pieces if isinstance(piece, Begun))
            else:
                # sets that have a point wait until there are enough of them: all together are pushed quickest
                ready = join_begun(waiting)
                first, rest = np.split(np.arange(len(ready)), [options.probes - len(found)])
                begun, waiting = ready.take(first), [ready.take(rest)] if rest.size else []
                parts = [begun.take(np.array(piece)) for piece in chunks(len(begun), size)]
                pieces = run(
                    _push,
                    parts,
                    shared=(polytope, options.solver),
                    n_jobs=options.n_jobs,
                    client=options.client,
                )
                tried = len(begun)
            new = [
                one for piece in pieces if not isinstance(piece, Begun) for one in piece if one.feasible.all()
            ]
            infeasible += tried - len(new)
            done(len(new))
            found += new
    relevance = np.array([_relevance(one, source) for one in found[: options.probes]]).reshape(-1, 2)
    if len(found) < RARE * draws / len(columns):
        # Had one feature been dispensable, every probe of it would have been feasible. These few are permutations that
        # happen to resemble the feature: no noise.
        relevance = relevance[:0]
    return Population(relevance[:, 0], relevance[:, 1], draws, infeasible)


def _relevance(found: Ranges, source: Source) -> tuple[float, float]:
    """Return the least and the greatest use of a probe, as shares of the norm."""
    lower, upper = found.lower, found.upper
    if source.part == "regular" and source.spec.sizes.classes > 1:
        # between classes only differences count
        return 0.0, float(upper.max() - lower.min()) / source.norm
    small = np.where((lower <= 0) & (upper >= 0), 0.0, np.minimum(np.abs(lower), np.abs(upper)))
    return float(small.max()) / source.norm, float(
        np.maximum(np.abs(lower), np.abs(upper)).max()
    ) / source.norm


def _pick(seed: int, part: str, draw: int, count: int) -> tuple[int, np.random.Generator]:
    """Return which of `count` columns a draw permutes, and the generator it goes on with."""
    rng = stream(seed, STREAM[part], draw)
    return int(rng.integers(count)), rng


def _probe(task: range, shared: tuple) -> list[Ranges] | Begun:
    """Return what permuted columns reach; or, where it takes two steps, the sets among theirs that have a point."""
    source, columns, without = shared
    X, spec = source.columns, source.spec
    changes = []
    for draw in task:
        place, rng = _pick(source.options.seed, source.part, draw, len(columns))
        order = rng.permutation(len(X))
        rng.integers(1)
        change = spec.change(source.part, columns[place], X[order, columns[place]])
        changes.append(replace(change, index=source.place[change.index]))
    if isinstance(without, Gone):
        begun = begin_changes(source.polytope, changes, without)
        assert begun is not None
        return begun.take(np.flatnonzero(begun.feasible))
    return push_changes(source.polytope, changes, source.options.solver, without)


def _push(begun: Begun, shared: tuple[Polytope, str]) -> list[Ranges]:
    return push_begun(shared[0], begun, shared[1])


def _of_term(source: Source, term: DesignTerm) -> Population:
    """Permute a term with several columns as a whole."""
    options = source.options
    (row,) = [r for r in source.spec.asked if r.key == RowKey(term.part, term.name)]
    lower: list[float] = []
    upper: list[float] = []
    draws = infeasible = 0
    while len(upper) < options.probes and draws < MOST_TERM_DRAWS * options.probes:
        wave = min(options.probes - len(upper), MOST_TERM_DRAWS * options.probes - draws)
        found = run(
            _probe_term,
            list(range(draws, draws + wave)),
            shared=(source, term, row),
            n_jobs=options.n_jobs,
            client=options.client,
        )
        draws += wave
        for small, large in found:
            if math.isnan(large):
                infeasible += 1
            else:
                lower.append(small / source.norm)
                upper.append(large / source.norm)
    return Population(np.array(lower), np.array(upper), draws, infeasible)


def _probe_term(draw: int, shared: tuple[Source, DesignTerm, Asked]) -> tuple[float, float]:
    source, term, row = shared
    rng = stream(source.options.seed, STREAM[source.part], draw)
    order = rng.permutation(len(source.columns))
    changes = [source.spec.change(source.part, k, source.columns[order, k]) for k in term.columns]
    model = put_columns(source.polytope.model, join_columns(changes))
    polytope = replace(source.polytope, model=model, active=None)
    most = greatest(polytope, row, source.options.solver)
    return (0.0, most) if math.isnan(most) else (least(polytope, row, source.options.solver), most)


def probe_notes(populations: dict[NoiseKey, Population], options: Options) -> list[str]:
    """Say what a reader must know of the probes; warn when there are too few."""
    notes = []
    for key, population in populations.items():
        feasible = len(population.upper)
        if key.term is not None:
            # a term that every equivalent model needs has no noise to be compared with
            continue
        if feasible < 2:
            found = population.draws - population.infeasible
            some = f"Only {found}" if found else "None"
            text = (
                f"{some} of {population.draws} permuted {key.part} features left an equivalent model: "
                "every informative feature is indispensable, and anything above zero counts as relevant."
            )
            warnings.warn(text, RelboundsWarning, stacklevel=2)
            notes.append(text)
        elif feasible < options.probes:
            notes.append(
                f"The noise threshold of the {key.part} features rests on {feasible} feasible probes of "
                f"{population.draws} drawn ({options.probes} were wanted)."
            )
    return notes
