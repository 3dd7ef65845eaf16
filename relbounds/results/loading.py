"""Read a stored fit of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relbounds.results.fit import RelboundsResults
from relbounds.saving import read_file


def load(path: str | Path, functions: Mapping[str, Any] | None = None) -> Any:
    """Read what the `save()` of a fit wrote, whichever of this package's functions made it.

    Files hold data only: nothing in them is run, and nothing is imported because they say so.

    Parameters
    ----------
    path : str or Path
    functions : mapping, optional
        Functions of your own that the fit uses, by name: a kernel, or what its formula calls.

    Returns
    -------
    RelboundsResults, SvorResults or ForestResults

    Examples
    --------
    >>> import tempfile, relbounds as rb
    >>> data = rb.simulate.paper_set(3, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rb.load(fit.save(folder + "/fit.relbounds")).selected("strong")
    ['x1', 'x2', 'x3']
    """
    from relbounds.forest.results import ForestResults
    from relbounds.kernel.results import SvorResults

    return read_file(path, (RelboundsResults, ForestResults, SvorResults), functions)
