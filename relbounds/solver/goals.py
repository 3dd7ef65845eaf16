"""When a push may end early: its direction is beaten, good enough, or proved to stay below a given value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from relbounds.solver.core import State
from relbounds.solver.predictor_corrector import Stop
from relbounds.solver.tolerances import PROMISED

# What an iterate leaves open is its gap and, with this weight, what its dual residual lacks: both the iterate and the
# optimum may have the whole norm. Less would stop directions whose bound is then not proved; more costs iterations.
OPEN = 2.0


@dataclass
class Goals:
    """What k directions are pushed for, besides their own optimum.

    Parameters
    ----------
    below : ndarray, shape (k,), or None
        A direction may stop once its maximum is shown to be at most this.
    race : bool
        Whether only the largest maximum counts: a direction that another one has left behind may stop.
    best : float
        The largest value known to be reached.
    enough : float
        All may stop once a value above this is reached.
    stopped : ndarray of bool, shape (k,)
        Directions that stopped early.
    most : ndarray, shape (k,)
        What each direction's last run leaves possible, by its own account.
    group : ndarray of int, shape (k,), or None
        Several races at once: the race each direction runs in, in the place of `race`.
    ahead : ndarray
        The largest value known so far in each of these races.
    accuracy : float
        What may be left open of the others, relative to the norm of the baseline.
    past : float
        A direction may stop once it reaches more than this.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> at = SimpleNamespace(v=np.array([[3.0], [1.0]]), which=np.arange(2))
    >>> goals = make_goals(2, race=True)
    >>> goals.stop(np.arange(2), np.ones((2, 1)), np.zeros(2))(at, 0.1 * np.ones(2), np.zeros(2)).tolist()
    [False, True]
    """

    below: np.ndarray | None
    race: bool
    best: float
    enough: float
    stopped: np.ndarray
    most: np.ndarray
    group: np.ndarray | None = None
    ahead: np.ndarray = field(default_factory=lambda: np.zeros(0))
    accuracy: float = PROMISED
    past: float = np.inf

    @property
    def is_race(self) -> bool:
        """Whether nothing but the largest of the maxima is asked for."""
        return self.below is None and np.isinf(self.past) and np.isinf(self.enough)

    def stop(self, which: np.ndarray, d: np.ndarray, offset: np.ndarray) -> Stop:
        """Return the rule for a run of the directions `which`, given in core units with the constant they add.

        Values of a run on few rows may be too large, so that they count in this run only.
        """
        best = self.best

        def rule(at: State, gap: np.ndarray, lack: np.ndarray) -> np.ndarray:
            nonlocal best
            value = np.einsum("bq,bq->b", at.v, d[at.which]) + offset[at.which]
            most = value + gap + OPEN * lack
            here = which[at.which]
            self.most[here] = most
            done = value > self.past
            if self.below is not None:
                done |= most <= self.below[here]
            if self.race:
                best = max(best, float(np.max(value, initial=-np.inf)))
                done |= most < best
            if self.group is not None:
                own = self.group[here]
                np.maximum.at(self.ahead, own, value)
                done |= most < self.ahead[own]
            if best > self.enough:
                done[:] = True
            self.stopped[here[done]] = True
            return done

        self.stopped[which] = False
        return rule

    def take(self, some: np.ndarray) -> Goals:
        """Return the goals of some directions."""
        below = None if self.below is None else self.below[some]
        group = None if self.group is None else self.group[some]
        return replace(self, below=below, stopped=self.stopped[some], most=self.most[some], group=group)

    def put(self, some: np.ndarray, other: Goals) -> None:
        """Note how some directions, with goals of their own, ended."""
        self.stopped[some], self.most[some] = other.stopped, other.most


def make_goals(
    count: int,
    below: np.ndarray | None = None,
    *,
    race: bool = False,
    best: float = -np.inf,
    enough: float = np.inf,
    group: np.ndarray | None = None,
    ahead: np.ndarray | None = None,
    accuracy: float = PROMISED,
    past: float = np.inf,
) -> Goals:
    """Return the goals of `count` directions.

    Examples
    --------
    >>> make_goals(2).stopped.tolist()
    [False, False]
    """
    known = np.zeros(0) if ahead is None else np.array(ahead, dtype=float)
    stopped, most = np.zeros(count, dtype=bool), np.full(count, np.inf)
    return Goals(below, race, best, enough, stopped, most, group, known, accuracy, past)
