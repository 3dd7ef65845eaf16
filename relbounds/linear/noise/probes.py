"""The published noise: features permuted one at a time inside the budgets of the fit.

A feature is drawn at random and its column permuted; its relevance interval inside the set whose budgets come from the
unpermuted best model shows how relevant noise can look. A probe whose set is empty was needed by every equivalent
model: it is counted and left out. Section "Noise" of docs/method.md, part "published".
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Any

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
from relbounds.solver.changes import (
    begin_changes,
    leave_out,
    push_begun,
    push_changes,
    widened,
    widened_index,
)
from relbounds.solver.columns import Columns, put_columns, stack_columns
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
# Probes of two parts go together where one has at most so many variables more than the other.
MOST_WIDENED = 1
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
    sources, pools = [], {}
    for part, columns in (("regular", design.X), ("privileged", design.Z)):
        terms = [t for t in design.design_terms if t.part == part]
        if not terms or (part == "privileged" and not spec.functions):
            continue
        source = Source(part, own, few, place, columns, evidence.norm, evidence.options, rows)
        sources.append((source, [t for t in terms if len(t.columns) > 1]))
        alone = tuple(t.columns[0] for t in terms if len(t.columns) == 1)
        if alone:
            pools[part] = Pool(source, alone)
    widths = [len(own.variables(part, pool.columns[0])) for part, pool in pools.items()]
    # with about as many variables each, the probes of both parts are one run
    if max(widths, default=0) - min(widths, default=0) <= MOST_WIDENED:
        _draw(list(pools.values()))
    else:
        for pool in pools.values():
            _draw([pool])
    out = {}
    for source, several in sources:
        if source.part in pools:
            out[NoiseKey(source.part)] = pools[source.part].population
        for term in several:
            out[NoiseKey(source.part, term.name)] = _of_term(replace(source, polytope=polytope), term)
    return out


@dataclass
class Pool:
    """The probes of a part's single columns: those drawn at random so far, and what they show.

    Parameters
    ----------
    source : Source
        What they are drawn from.
    columns : tuple of int
        The columns.
    draws, infeasible : int
        How many were permuted, and how many of these left no model.
    waiting : list of Begun
        Sets that have a point, not pushed yet.
    found : list of Ranges
        What the others reach.
    """

    source: Source
    columns: tuple[int, ...]
    draws: int = 0
    infeasible: int = 0
    waiting: list[Begun] = field(default_factory=list)
    found: list[Ranges] = field(default_factory=list)

    @property
    def index(self) -> np.ndarray:
        """The variables of the columns that are looked at to begin with, shape (F, k)."""
        source, count = self.source, len(self.columns)
        looked_at = list(self.columns)
        if count > source.options.probes:
            # of many features only those are looked at that will be drawn to begin with
            first = range(source.options.probes)
            picked = {self.columns[_pick(source.options.seed, source.part, draw, count)[0]] for draw in first}
            looked_at = [k for k in self.columns if k in picked]
        return source.place[np.array([source.spec.variables(source.part, k) for k in looked_at])]

    @property
    def lacking(self) -> int:
        """How many probes have to be pushed still."""
        return self.source.options.probes - len(self.found)

    def next_draws(self) -> range:
        """Return as many draws as should do, going by the share that was feasible so far."""
        probes = self.source.options.probes
        count = len(self.found) + sum(len(one) for one in self.waiting)
        most = MOST_DRAWS * probes
        if count >= probes or self.draws >= most:
            return range(0)
        rate = max(count / self.draws, 0.1) if self.draws else 1.0
        first = self.draws
        self.draws += min(math.ceil((probes - count) / rate), most - first)
        return range(first, self.draws)

    def next_sets(self) -> Begun | None:
        """Return sets that are to be pushed, at most as many as are lacking."""
        if not self.waiting or self.lacking <= 0:
            return None
        ready = join_begun(self.waiting)
        first, rest = np.split(np.arange(len(ready)), [self.lacking])
        self.waiting = [ready.take(rest)] if rest.size else []
        return ready.take(first)

    def note(self, tried: int, piece: list[Ranges] | Begun) -> None:
        """Take down what some probes, so many of them new or pushed, showed."""
        if isinstance(piece, Begun):
            self.waiting.append(piece)
            self.infeasible += tried - len(piece)
        else:
            new = [one for one in piece if one.feasible.all()]
            self.infeasible += tried - len(new)
            self.found += new

    @property
    def population(self) -> Population:
        """What all of them show."""
        some = self.found[: self.source.options.probes]
        relevance = np.array([_relevance(one, self.source) for one in some]).reshape(-1, 2)
        if len(self.found) < RARE * self.draws / len(self.columns):
            # Had one feature been dispensable, every probe of it would have been feasible. These few are permutations
            # that happen to resemble the feature: no noise.
            relevance = relevance[:0]
        return Population(relevance[:, 0], relevance[:, 1], self.draws, self.infeasible)


def _draw(pools: Sequence[Pool]) -> None:
    """Permute columns drawn at random until enough of each pool give a non-empty set."""
    if not pools:
        return
    source = pools[0].source
    options, polytope = source.options, source.polytope
    size = LARGE_CHUNK if polytope.model.G.size + polytope.model.A.size > LARGE else CHUNK
    # what is left without a feature decides most of its probes, so it is worked out once
    each = [pool.index for pool in pools]
    width = max(index.shape[1] for index in each)
    index = np.vstack([widened_index(one, polytope.model, width) for one in each])
    without = leave_out(polytope, np.unique(index, axis=0), source.rows)
    shared = (tuple((pool.source, pool.columns) for pool in pools), width, without)
    names = " and ".join(pool.source.part for pool in pools)
    with stage(f"probes, {names}", len(pools) * options.probes, options.progress) as done:
        while True:
            before = sum(len(pool.found) for pool in pools)
            drawn = [(i, piece) for i, pool in enumerate(pools) for piece in _pieces(pool.next_draws(), size)]
            if drawn:
                answers = _answers(_probe, drawn, size, shared, options)
            else:
                # sets that have a point wait until there are enough of them: all together are pushed quickest
                ready = [(i, one) for i, pool in enumerate(pools) if (one := pool.next_sets()) is not None]
                parts = [
                    (i, one.take(np.array(piece))) for i, one in ready for piece in chunks(len(one), size)
                ]
                if not parts:
                    break
                answers = _answers(_push, parts, size, (polytope, options.solver), options)
            for i, tried, piece in answers:
                pools[i].note(tried, piece)
            done(sum(len(pool.found) for pool in pools) - before)


def _answers(
    function: Callable[..., Any],
    pieces: Sequence[tuple[int, Sized]],
    size: int,
    shared: tuple,
    options: Options,
) -> list[tuple[int, int, list[Ranges] | Begun]]:
    """Return, for every piece, its pool, how many probes it has, and what became of them.

    Pieces of several pools go together into tasks of at most so many probes.
    """
    tasks: list[list[tuple[int, Sized]]] = []
    for one in pieces:
        if tasks and sum(len(piece) for _, piece in tasks[-1]) + len(one[1]) <= size:
            tasks[-1].append(one)
        else:
            tasks.append([one])
    found = run(function, tasks, shared=shared, n_jobs=options.n_jobs, client=options.client)
    return [
        (i, len(piece), answer)
        for task, answers in zip(tasks, found, strict=True)
        for (i, piece), answer in zip(task, answers, strict=True)
    ]


def _pieces(draws: range, size: int) -> list[range]:
    return [range(draws.start + piece.start, draws.start + piece.stop) for piece in chunks(len(draws), size)]


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


def _probe(task: Sequence[tuple[int, range]], shared: tuple) -> list[list[Ranges] | Begun]:
    """Return what permuted columns reach; or, where it takes two steps, the sets among theirs that have a point."""
    pools, width, without = shared
    polytope, options = pools[0][0].polytope, pools[0][0].options
    changes: list[list[Columns]] = []
    for i, draws in task:
        source, columns = pools[i]
        changes.append([])
        for draw in draws:
            place, rng = _pick(options.seed, source.part, draw, len(columns))
            order = rng.permutation(len(source.columns))
            rng.integers(1)
            own = [columns[place]]
            change = source.spec.change(source.part, own, source.columns[np.ix_(order, own)])
            changes[-1].append(replace(change, index=source.place[change.index]))
    if isinstance(without, Gone):
        model = polytope.model
        begun = begin_changes(
            polytope, [widened(stack_columns(own, model), model, width) for own in changes], without
        )
        assert begun is not None
        ends = np.cumsum([0, *(len(own) for own in changes)])
        parts = [np.arange(first, last) for first, last in pairwise(ends)]
        return [begun.take(part[begun.feasible[part]]) for part in parts]
    return [push_changes(polytope, own, options.solver, without) for own in changes]


def _push(task: Sequence[tuple[int, Begun]], shared: tuple[Polytope, str]) -> list[list[Ranges]]:
    found = iter(push_begun(shared[0], join_begun([begun for _, begun in task]), shared[1]))
    return [list(islice(found, len(begun))) for _, begun in task]


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
    change = source.spec.change(source.part, term.columns, source.columns[order][:, list(term.columns)])
    model = put_columns(source.polytope.model, change)
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
