"""The recipe behind every simulator; see `relbounds.simulate` for what it does and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.checks import choice, integer, number
from relbounds.errors import OptionError

Array = NDArray[np.float64]
FAMILIES = ("ordinal", "binary", "regression")


@dataclass(frozen=True)
class Simulated:
    """What a simulator returns.

    Attributes
    ----------
    data : DataFrame
        Response ``y``, features ``x1``..., privileged features ``z1``... where there are any.
    formula : str
        Ready for `relbounds.relbounds`.
    truth, truth_privileged : Series
        By feature name: "strong", "weak" or "irrelevant".
    groups : Series
        By feature name: features with the same number stand in for each other; 0 holds all irrelevant ones.

    Examples
    --------
    >>> sim = ordinal(n=50, strong=1, weak=2, irrelevant=1, seed=1)
    >>> sim.truth.tolist()
    ['strong', 'weak', 'weak', 'irrelevant']
    >>> sim.formula
    'y ~ .'
    """

    data: pd.DataFrame
    formula: str
    truth: pd.Series
    truth_privileged: pd.Series = field(default_factory=lambda: pd.Series(dtype=object))
    groups: pd.Series = field(default_factory=lambda: pd.Series(dtype=int))


@dataclass(frozen=True)
class Layout:
    """Which informative feature stands behind each column: strong and weak by number, irrelevant -1."""

    source: tuple[int, ...]
    classes: tuple[str, ...]

    @property
    def n_informative(self) -> int:
        """How many clean features the score is made of."""
        return max(self.source, default=-1) + 1

    @property
    def groups(self) -> list[int]:
        """One number per column; stand-ins share it, irrelevant columns have 0."""
        return [s + 1 for s in self.source]


def make_layout(strong: int, weak: int, irrelevant: int, groups: int | Sequence[int]) -> Layout:
    """Decide which informative feature stands behind each column."""
    for name, value in (("strong", strong), ("weak", weak), ("irrelevant", irrelevant)):
        if value < 0:
            raise OptionError(f"{name} counts features and was {value}; give 0 or more.")
    if isinstance(groups, int):
        if groups < 1:
            raise OptionError(f"groups was {groups}; give at least 1, or the sizes of the groups.")
        sizes = [len(part) for part in np.array_split(np.arange(weak), groups)] if weak else []
    else:
        sizes = list(groups)
        if sum(sizes) != weak:
            raise OptionError(f"The group sizes {sizes} add up to {sum(sizes)}; weak asks for {weak}.")
    if any(size < 2 for size in sizes):
        raise OptionError(
            f"Weak groups of sizes {sizes}: each needs two members or more, or its only member has no "
            "stand-in and is strong. Use more weak features or fewer groups."
        )
    if strong + weak == 0:
        raise OptionError("No feature is informative; give strong or weak a positive number.")
    source = list(range(strong))
    for g, size in enumerate(sizes):
        source += [strong + g] * size
    source += [-1] * irrelevant
    classes = ["strong"] * strong + ["weak"] * weak + ["irrelevant"] * irrelevant
    return Layout(tuple(source), tuple(classes))


def _between(name: str, value: float, low: float, high: float, *, closed: bool = False) -> None:
    number(name, value, finite=False)
    if not (low <= value < high or (closed and value == high)):
        end = "]" if closed else ")"
        raise OptionError(f"{name} was {value}; it must lie in [{low:g}, {high:g}{end}.")


def gaussian(rng: np.random.Generator, n: int, q: int, correlation: float) -> Array:
    """Draw standard normal columns, any two with the given correlation (one shared factor)."""
    own = rng.standard_normal((n, q))
    if correlation == 0.0:
        return own
    shared = rng.standard_normal((n, 1))
    return np.sqrt(correlation) * shared + np.sqrt(1.0 - correlation) * own


def standardise(columns: Array) -> Array:
    """Give each column mean 0 and standard deviation 1."""
    return (columns - columns.mean(axis=0)) / columns.std(axis=0)


def clean_columns(rng: np.random.Generator, informative: Array, layout: Layout, correlation: float) -> Array:
    """Lay strong features, copies and irrelevant columns side by side."""
    source = np.array(layout.source)
    n_irrelevant = int(np.sum(source < 0))
    noise = gaussian(rng, len(informative), n_irrelevant, correlation)
    return np.hstack([informative[:, source[source >= 0]], noise])


def cut_levels(score: Array, n_levels: int, imbalance: float) -> NDArray[np.int64]:
    """Cut the score into levels 1..L; level k holds a share proportional to (1 - imbalance)^(k-1)."""
    share = (1.0 - imbalance) ** np.arange(n_levels)
    cuts = np.quantile(score, np.cumsum(share / share.sum())[:-1])
    return 1 + np.searchsorted(cuts, score, side="left").astype(np.int64)


def _wrong_labels(
    rng: np.random.Generator, y: NDArray[np.int64], n_levels: int, label_noise: float
) -> NDArray[np.int64]:
    """Give a share of rows another level, each of the others being as likely."""
    wrong = rng.choice(len(y), size=round(label_noise * len(y)), replace=False)
    out = y.copy()
    out[wrong] = 1 + (y[wrong] - 1 + rng.integers(1, n_levels, size=len(wrong))) % n_levels
    return out


def make_response(
    rng: np.random.Generator, score: Array, family: str, n_levels: int, imbalance: float, label_noise: float
) -> pd.Series:
    """Turn the clean score into the response of the family."""
    if family == "regression":
        values = score.copy()
        mixed = rng.choice(len(score), size=round(label_noise * len(score)), replace=False)
        values[mixed] = rng.permutation(values[mixed])
        return pd.Series(values)
    codes = _wrong_labels(rng, cut_levels(score, n_levels, imbalance), n_levels, label_noise)
    if family == "binary":
        return pd.Series(codes - 1)
    return pd.Series(pd.Categorical(codes, categories=range(1, n_levels + 1), ordered=True))


def check_options(
    family: str, n: int, n_levels: int, noise: float, imbalance: float, correlation: float, label_noise: float
) -> int:
    """Refuse options that make no sense; return the number of levels the family has."""
    choice("family", family, FAMILIES)
    n, n_levels = integer("n", n, least=1), integer("n_levels", n_levels, least=1)
    if n < 2 * n_levels:
        raise OptionError(f"n was {n}; {n_levels} levels need at least {2 * n_levels} rows.")
    if n_levels < 2:
        raise OptionError(f"n_levels was {n_levels}; a response needs at least 2.")
    _between("noise", noise, 0.0, np.inf)
    _between("imbalance", imbalance, 0.0, 1.0)
    _between("correlation", correlation, 0.0, 1.0)
    _between("label_noise", label_noise, 0.0, 1.0, closed=True)
    return 2 if family == "binary" else n_levels


def draw(
    family: str = "ordinal",
    n: int = 200,
    strong: int = 3,
    weak: int = 4,
    irrelevant: int = 3,
    *,
    groups: int | Sequence[int] = 1,
    n_levels: int = 5,
    noise: float = 0.0,
    imbalance: float = 0.0,
    correlation: float = 0.0,
    label_noise: float = 0.0,
    seed: int | None = 0,
) -> Simulated:
    """Simulate one data set; `ordinal`, `binary` and `regression` are this with the family filled in.

    Parameters
    ----------
    family : {"ordinal", "binary", "regression"}
    n : int
        Rows.
    strong, weak, irrelevant : int
        How many features of each class.
    groups : int or sequence of int
        Into how many groups of stand-ins the weak features fall, or the sizes of the groups.
    n_levels : int
        Levels of an ordinal response.
    noise : float
        Standard deviation of the Gaussian noise added to each feature (whose own is 1).
    imbalance : float
        In [0, 1). 0 makes levels equally frequent; otherwise each is (1 - imbalance) times as frequent as
        the one below it.
    correlation : float
        In [0, 1): between any two informative features, and between any two irrelevant ones.
    label_noise : float
        Share of rows whose level is replaced by another one at random; in regression, whose responses are
        shuffled among them.
    seed : int or None

    Returns
    -------
    Simulated
        Data, formula and truth.

    Examples
    --------
    >>> sim = draw("binary", n=100, strong=2, weak=0, irrelevant=1, noise=0.5)
    >>> sim.data.columns.tolist()
    ['y', 'x1', 'x2', 'x3']
    >>> sim.data["y"].value_counts().tolist()
    [50, 50]
    """
    n_levels = check_options(family, n, n_levels, noise, imbalance, correlation, label_noise)
    layout = make_layout(strong, weak, irrelevant, groups)
    rng = np.random.default_rng(integer("seed", seed))
    informative = gaussian(rng, n, layout.n_informative, correlation)
    score = informative.sum(axis=1)
    y = make_response(rng, score, family, n_levels, imbalance, label_noise)
    X = clean_columns(rng, informative, layout, correlation)
    X = standardise(X + noise * rng.standard_normal(X.shape))
    return assemble(y, X, layout)


def assemble(
    y: pd.Series,
    X: Array,
    layout: Layout,
    Z: Array | None = None,
    classes_z: Sequence[object] = (),
) -> Simulated:
    """Put columns, names, formula and truth together."""
    x_names = [f"x{k + 1}" for k in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=x_names)
    frame.insert(0, "y", y)
    formula = "y ~ ."
    truth_z = pd.Series(dtype=object, name="truth")
    if Z is not None:
        z_names = [f"z{k + 1}" for k in range(Z.shape[1])]
        frame = pd.concat([frame, pd.DataFrame(Z, columns=z_names)], axis=1)
        formula += f" | priv({', '.join(z_names)})"
        truth_z = pd.Series(list(classes_z), index=z_names, dtype=object, name="truth")
    truth = pd.Series(layout.classes, index=x_names, dtype=object, name="truth")
    return Simulated(frame, formula, truth, truth_z, pd.Series(layout.groups, index=x_names, name="group"))


def ordinal(
    n: int = 200,
    strong: int = 3,
    weak: int = 4,
    irrelevant: int = 3,
    *,
    groups: int | Sequence[int] = 1,
    n_levels: int = 5,
    noise: float = 0.0,
    imbalance: float = 0.0,
    correlation: float = 0.0,
    label_noise: float = 0.0,
    seed: int | None = 0,
) -> Simulated:
    """Ordered levels with known truth; parameters as in `draw`.

    Parameters
    ----------
    n : int
        Rows.
    strong, weak, irrelevant : int
        How many features of each class.
    groups, n_levels, noise, imbalance, correlation, label_noise, seed
        As in :func:`draw`.

    Returns
    -------
    Simulated
        Data, formula and truth.

    Examples
    --------
    >>> sim = ordinal(n=100, n_levels=4, imbalance=0.5)
    >>> sim.data["y"].value_counts(sort=False).tolist()
    [53, 27, 13, 7]
    """
    return draw(
        "ordinal", n, strong, weak, irrelevant, groups=groups, n_levels=n_levels, noise=noise,
        imbalance=imbalance, correlation=correlation, label_noise=label_noise, seed=seed,
    )  # fmt: skip


def binary(
    n: int = 200,
    strong: int = 3,
    weak: int = 4,
    irrelevant: int = 3,
    *,
    groups: int | Sequence[int] = 1,
    noise: float = 0.0,
    imbalance: float = 0.0,
    correlation: float = 0.0,
    label_noise: float = 0.0,
    seed: int | None = 0,
) -> Simulated:
    """Two classes, 0 and 1, with known truth; parameters as in `draw`.

    Parameters
    ----------
    n : int
        Rows.
    strong, weak, irrelevant : int
        How many features of each class.
    groups, noise, imbalance, correlation, label_noise, seed
        As in :func:`draw`.

    Returns
    -------
    Simulated
        Data, formula and truth.

    Examples
    --------
    >>> binary(n=40, seed=3).data["y"].tolist().count(1)
    20
    """
    return draw(
        "binary", n, strong, weak, irrelevant, groups=groups, noise=noise,
        imbalance=imbalance, correlation=correlation, label_noise=label_noise, seed=seed,
    )  # fmt: skip


def regression(
    n: int = 200,
    strong: int = 3,
    weak: int = 4,
    irrelevant: int = 3,
    *,
    groups: int | Sequence[int] = 1,
    noise: float = 0.0,
    correlation: float = 0.0,
    label_noise: float = 0.0,
    seed: int | None = 0,
) -> Simulated:
    """Simulate a numeric response with known truth; parameters as in `draw`.

    Parameters
    ----------
    n : int
        Rows.
    strong, weak, irrelevant : int
        How many features of each class.
    groups, noise, correlation, label_noise, seed
        As in :func:`draw`.

    Returns
    -------
    Simulated
        Data, formula and truth.

    Examples
    --------
    >>> regression(n=40, strong=2).data["y"].dtype
    dtype('float64')
    """
    return draw(
        "regression", n, strong, weak, irrelevant, groups=groups, noise=noise,
        correlation=correlation, label_noise=label_noise, seed=seed,
    )  # fmt: skip
