"""The columns that tables show: their heads, and how a value is written. One place for all kinds of fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

# No p-value is shown as smaller than this, however many permutations there were: readers take less for certainty.
SMALLEST_P = 0.001


def format_bound(value: Any) -> str:
    """Format a bound with three decimals, never a minus before zero, and nothing where there is none.

    Examples
    --------
    >>> format_bound(-0.0001), format_bound(0.25), format_bound(float("nan"))
    ('0.000', '0.250', '')
    """
    if pd.isna(value):
        return ""
    text = f"{value:.3f}"
    return "0.000" if text == "-0.000" else text


def format_p(p: Any, smallest: float = SMALLEST_P) -> str:
    """Format a p-value as R does, and never smaller than what the permutations behind it can show.

    Examples
    --------
    >>> format_p(0.0234), format_p(0.0000002), format_p(1.0), format_p(1e-24, smallest=1 / 51)
    ('0.023', '<0.001', '1.000', '<0.02')
    """
    if pd.isna(p):
        return ""
    smallest = max(smallest, SMALLEST_P)
    # a p-value that is the smallest possible one, but for rounding, is shown as a number
    if p < smallest * (1 - 1e-9):
        return f"<{_round_up(smallest)}"
    return f"{p:.3f}"


def _round_up(value: float) -> str:
    """Write a small number with one digit, rounded up, so that "less than" stays true."""
    exponent = math.floor(math.log10(value) + 1e-12)
    digit = math.ceil(value / 10**exponent - 1e-9)
    if digit == 10:
        exponent, digit = exponent + 1, 1
    return f"{digit * 10**exponent:.{max(-exponent, 0)}f}"


def format_share(value: Any) -> str:
    """Format a share with two decimals, a dash where there is none."""
    return "-" if pd.isna(value) else f"{value:.2f}"


def format_loss(value: Any) -> str:
    """Format a loss with four decimals, a dash where there is none."""
    return "-" if pd.isna(value) else f"{value:.4f}"


def format_size(value: Any) -> str:
    """Format a number of any size."""
    if pd.isna(value):
        return ""
    return format_bound(value) if abs(value) < 100 else f"{value:.4g}"


def format_count(value: Any) -> str:
    """Format a whole number, nothing where there is none.

    Examples
    --------
    >>> format_count(3.0), format_count(None)
    ('3', '')
    """
    return "" if pd.isna(value) else f"{value:.0f}"


def format_word(value: Any) -> str:
    """Format a word, nothing where there is none."""
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else str(value)


@dataclass(frozen=True)
class Column:
    """How a column is shown: its head in papers and in the summary, how a value is written, whether it is a word."""

    head: str
    write: Callable[[Any], str]
    word: bool = False
    summary_head: str = ""
    is_p: bool = False

    def cell(self, value: Any, smallest_p: float) -> str:
        """Return a value as it is printed."""
        return format_p(value, smallest_p) if self.is_p else self.write(value)


COLUMNS: dict[str, Column] = {
    "weight": Column("weight", format_bound),
    "lower": Column("lower", format_bound),
    "upper": Column("upper", format_bound),
    "signed_lower": Column("from", format_bound, summary_head="[signed"),
    "signed_upper": Column("to", format_bound, summary_head="range]"),
    # how far bounds move between imputed data sets
    "lower_moves": Column("lower moves", format_bound, summary_head="(moves"),
    "upper_moves": Column("upper moves", format_bound, summary_head="moves)"),
    "importance": Column("import.", format_size),
    "removal_loss": Column("removal", format_loss),
    "replaceable": Column("others", format_share),
    "p_noise": Column("P>noise", format_p, is_p=True),
    "p_adjusted": Column("P adj.", format_p, is_p=True),
    "group": Column("group", format_count),
    "relevance": Column("relevance", format_word, word=True),
    "direction": Column("dir.", format_word, word=True),
    "constraint": Column("constraint", format_word, word=True),
    "stability": Column("stability", format_share),
    # levels of a kernel model
    "n": Column("rows", format_count),
    "support": Column("support", format_count),
    "at_limit": Column("at limit", format_count),
    "wrong": Column("wrong", format_count),
    "off": Column("mean miss", format_bound),
}


def column(name: str, values: pd.Series) -> Column:
    """Return how a column is shown; one that is not known here is shown by its type.

    Examples
    --------
    >>> column("moved", pd.Series([0.1])).cell(0.25, 0.001), column("who", pd.Series(["a"])).word
    ('0.250', True)
    """
    if name in COLUMNS:
        return COLUMNS[name]
    if pd.api.types.is_integer_dtype(values):
        return Column(name, format_count)
    if pd.api.types.is_float_dtype(values):
        return Column(name, format_size)
    return Column(name, format_word, word=True)
