"""What the user holds after a linear fit.

One class, put together from what it does: `held` (facts), `predictions`, `questions` (to `explore/`), `figures` (of
`show/figures/`) and `report`. It gets a frozen `Fitted` and gives tables, records and axes. `loading` reads stored
fits.
"""

from __future__ import annotations

from relbounds.results.fit import RelboundsResults
from relbounds.results.held import BaselineView
from relbounds.results.loading import load

__all__ = ["BaselineView", "RelboundsResults", "load"]
