"""Best models of many rows near a model that is known: solved on the rows whose kinks are near.

Refits of resampled data, of folds or of permuted columns move most rows by little. Rows far from their kinks are held
on the piece they have at the known model, which is a relaxation; it is exact where none of them has changed sides, and
otherwise those that did join. With many levels and implicit order every observation has a row at every threshold, and
all but a few of them are far.
"""

from __future__ import annotations

import numpy as np

from relbounds.solver.active_rows import nearest_rows

# Below this many rows nothing is gained.
MANY = 4000
# Share of the rows, the ones nearest their kinks, that are looked at from the beginning.
SHARE = 0.2


class WorkingRows:
    """The rows at work, and on which piece the others are held.

    Parameters
    ----------
    margin : ndarray, shape (R,)
        ``G v - h`` at the known model.
    free : ndarray, shape (R, k)
        The rows' entries of the free variables.
    tiny : float
        By how much a row must be on the other side of its kink to count.

    Examples
    --------
    >>> rows = WorkingRows(np.array([-2.0, 0.1, 3.0]), np.zeros((3, 0)), 1e-9, share=0.3)
    >>> rows.active.tolist(), rows.linear.tolist()
    ([False, True, False], [True, False, False])
    >>> rows.join(np.array([[-1.0, 5.0, 1.0], [-1.0, -5.0, -1.0]])).tolist(), rows.active.tolist()
    ([1], [False, True, True])
    """

    def __init__(self, margin: np.ndarray, free: np.ndarray, tiny: float, share: float = SHARE) -> None:
        self.below, self.tiny = margin < 0, tiny
        self.free, self.distance = free, np.abs(margin)
        self.active = self._nearest(share * margin.size)

    @property
    def linear(self) -> np.ndarray:
        """Rows held on their linear piece."""
        return self.below & ~self.active

    def join(self, margin: np.ndarray) -> np.ndarray:
        """Return the problems, of margins (B, R), that some held row was wrong for; such rows join."""
        wrong = ~self.active & np.where(self.below, margin > self.tiny, margin < -self.tiny)
        count = wrong.sum(axis=1)
        # an answer with most rows on the wrong side ran away for want of rows, and says little of which are needed
        astray = count > self.active.sum()
        if astray.any():
            self.active |= self._nearest(2.0 * self.active.sum())
        self.active |= wrong[~astray].any(axis=0)
        return np.flatnonzero(count)

    def _nearest(self, count: float) -> np.ndarray:
        return nearest_rows(self.free, self.distance, int(np.ceil(count)))
