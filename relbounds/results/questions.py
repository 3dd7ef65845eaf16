"""Questions to a linear fit: each is a method that hands the fit to one file of `explore/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from relbounds.results.predictions import PredictingFit

if TYPE_CHECKING:
    from relbounds.explore.cheapest import Choice
    from relbounds.explore.groups import Groups
    from relbounds.explore.risk import RiskBound
    from relbounds.explore.stability import Stability
    from relbounds.explore.sweep_delta import Sweep
    from relbounds.explore.together import Together
    from relbounds.show.explorer import Explorer


class AskedFit(PredictingFit):
    """A linear fit that answers questions."""

    def constrain(
        self, wishes: Mapping[str, Any], *, heredity: bool = True, noise: bool | None = None
    ) -> Self:
        """Ask what if some features are used less, more, or not at all.

        Parameters
        ----------
        wishes : mapping
            By feature or term: a number (the share of the norm it must have), a pair (least, most) with None for an
            open end, or "off", "min" or "max".
        heredity : bool
            Switch off the interactions of a term that is switched off.
        noise : bool, optional
            Draw noise anew inside the constrained set (True), or keep that of the fit, which is at least as large
            (False); by default drawn unless there are very many rows.

        Returns
        -------
        RelboundsResults
            Of the models that are still equivalent; features that were fixed read "fixed".

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.constrain({"x2": "off"}).table.loc["x3", "relevance"]
        'strong'
        """
        from relbounds.explore.constrain import constrain

        return type(self)(constrain(self._fitted, wishes, heredity=heredity, noise=noise))

    def substitutes(self, feature: str, *, heredity: bool = True) -> pd.DataFrame:
        """Return which features take over when one is off.

        Parameters
        ----------
        feature : str
            A feature or a term, weakly relevant: a strong one has no substitute.
        heredity : bool
            Switch its interactions off with it.

        Returns
        -------
        DataFrame
            One row for each other feature that was relevant or becomes so, best substitute first; see
            :func:`relbounds.explore.substitutes.substitutes` for its columns.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.substitutes("x2").loc["x3", "role"]
        'replaces'
        """
        from relbounds.explore.substitutes import substitutes

        return substitutes(self._fitted, feature, heredity=heredity)

    def level_contrasts(self, term: str, reference: Any = None) -> pd.DataFrame:
        """Compare the levels of a factor in every equivalent model.

        Parameters
        ----------
        term : str
            A factor: its name in the formula or the plain variable.
        reference : optional
            A level that all others are compared with; all pairs by default.

        Returns
        -------
        DataFrame
            One row a pair; see :func:`relbounds.explore.level_contrasts.level_contrasts` for its columns.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.datasets.load_severity()
        >>> fit = rb.relbounds("severity ~ stiffness + crp + sex", data, C=0.1, delta=0.02)
        >>> fit.level_contrasts("sex")[["level", "reference"]].values.tolist()
        [['male', 'female']]
        """
        from relbounds.explore.level_contrasts import level_contrasts

        return level_contrasts(self._fitted, term, reference)

    def together(self, names: Sequence[str]) -> Together:
        """Return the least and the most that some terms are used jointly.

        Parameters
        ----------
        names : sequence of str
            Features or terms.

        Returns
        -------
        Together
            See :func:`relbounds.explore.together.together`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> rb.relbounds(data.formula, data.data, C=1.0, delta=0.01).together(["x2", "x3"]).relevance
        'strong'
        """
        from relbounds.explore.together import together

        return together(self._fitted, names)

    def groups(
        self,
        cut: float | None = None,
        k: int | None = None,
        *,
        part: str = "regular",
        by: str = "context",
        by_class: bool = True,
    ) -> Groups:
        """Group features that play the same role.

        Parameters
        ----------
        cut : float, optional
            Where to cut the tree, as a share of its tallest link.
        k : int, optional
            The wanted number of groups instead.
        part : {"regular", "privileged"}
        by : {"context", "overlap"}
            What makes two features alike: how all others move when one is held, or how much they take from each other.
        by_class : bool
            Whether strong features stay alone and irrelevant ones together.

        Returns
        -------
        Groups

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.groups(k=3).members[2]
        ['x2', 'x3']
        """
        from relbounds.explore.groups import groups

        return groups(self._fitted, cut, k, part=part, by=by, by_class=by_class)

    def sweep_delta(self, delta: Sequence[float | str] | None = None, *, probes: int | None = None) -> Sweep:
        """Recompute bounds and classes along the tolerance.

        Parameters
        ----------
        delta : sequence of float or str, optional
            Tolerances; by default a grid around that of the fit.
        probes : int, optional
            Permuted features at each; as many as in the fit by default.

        Returns
        -------
        Sweep

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.sweep_delta([0.001, 0.01]).deltas.tolist()
        [0.001, 0.01]
        """
        from relbounds.explore.sweep_delta import sweep_delta

        return sweep_delta(self._fitted, delta, probes=probes)

    def stability(self, n_resamples: int = 50, **options: Any) -> Stability:
        """Repeat the fit on subsamples of the rows and count classes.

        Parameters
        ----------
        n_resamples : int
            How many subsamples.
        **options
            Those of :func:`relbounds.explore.stability.stability`.

        Returns
        -------
        Stability

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.stability(n_resamples=2).n_resamples
        2
        """
        from relbounds.explore.stability import stability

        return stability(self._fitted, n_resamples, **options)

    def cheapest(self, cost: Mapping[str, float], **options: Any) -> Choice:
        """Find the cheapest terms that support an equivalent model.

        Parameters
        ----------
        cost : mapping
            The cost of each term.
        **options
            Those of :func:`relbounds.explore.cheapest.cheapest`, such as `other`, the cost of terms not named.

        Returns
        -------
        Choice

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.cheapest({"x2": 500}, other=1).formula
        'y ~ x1 + x3'
        """
        from relbounds.explore.cheapest import cheapest

        return cheapest(self._fitted, cost, **options)

    def explorer(
        self,
        *,
        port: int | None = None,
        open_browser: bool = True,
        block: bool | None = None,
        idle: float = 600.0,
    ) -> Explorer:
        """Ask "what if?" by dragging bars: open a page of this fit on this machine (needs the extra ``explorer``).

        The page is served at 127.0.0.1 alone, under an address that cannot be guessed, and shows this fit only. It ends
        with Ctrl-C, with the kernel, or some time after the page is closed.

        Parameters
        ----------
        port : int, optional
            Where to serve it; a free port by default.
        open_browser : bool
            Open it in a browser; the address is printed in any case. A notebook shows the page inline instead.
        block : bool, optional
            Whether to return only when it has ended; by default in scripts, not in notebooks and interactive sessions.
        idle : float
            Seconds without a sign of life of any page after which it ends.

        Returns
        -------
        Explorer
            With ``url``, ``stop()``, ``wait()`` and ``running``; a notebook shows the page as a cell's value.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> page = fit.explorer(open_browser=False, block=False)
        Open the explorer in a browser: http://127.0.0.1:...
        >>> page.stop()
        """
        from relbounds.show.explorer import open_explorer

        return open_explorer(self._fitted, port=port, open_browser=open_browser, block=block, idle=idle)

    def risk_bound(self, tau: float = 0.05) -> RiskBound:
        """Bound the risk of every equivalent model on new data.

        Parameters
        ----------
        tau : float
            The chance that the bound does not hold.

        Returns
        -------
        RiskBound

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr").risk_bound().vacuous
        True
        """
        from relbounds.explore.risk import risk_bound

        return risk_bound(self._fitted, tau)

    @property
    def correcting(self) -> pd.DataFrame:
        """The fitted correcting functions, one column each; a teacher's weights; empty without `priv()`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.privileged("noise", n=60, strong=2, weak=0, family="binary", seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, delta=0.01, control="fdr")
        >>> fit.correcting.columns.tolist()
        ['too high', 'too low']
        """
        from relbounds.explore.difficulty import correcting

        return correcting(self._fitted)

    @property
    def correcting_bounds(self) -> pd.DataFrame:
        """The bounds of each privileged feature in each correcting function, in the units of the table.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.privileged("noise", n=60, strong=2, weak=0, family="binary", seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, delta=0.01, control="fdr")
        >>> fit.correcting_bounds.index.tolist()[:2]
        [('z1', 'too high'), ('z1', 'too low')]
        """
        from relbounds.explore.difficulty import correcting_bounds

        return correcting_bounds(self._fitted)

    def difficulty(self) -> pd.DataFrame:
        """Return, for every training row, how hard it is to grade by its privileged features, and why.

        Returns
        -------
        DataFrame
            One row per training row; see :func:`relbounds.explore.difficulty.difficulty` for its columns.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.privileged("noise", n=60, strong=2, weak=0, family="binary", seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, delta=0.01, control="fdr")
        >>> fit.difficulty().columns.tolist()[:3]
        ['y', 'predicted', 'slack']
        """
        from relbounds.explore.difficulty import difficulty

        return difficulty(self._fitted)
