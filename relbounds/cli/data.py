"""Tables from files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from relbounds.errors import DataError, MissingExtraError, OptionError, listed

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a CSV, TSV or Parquet file, by its ending.

    Examples
    --------
    >>> read_table("grades.xls")
    Traceback (most recent call last):
    ...
    relbounds.errors.DataError: 'grades.xls' has an ending that is not known; use .csv, .tsv or .parquet.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in (*SEPARATORS, ".parquet"):
        raise DataError(f"'{path}' has an ending that is not known; use .csv, .tsv or .parquet.")
    if path.is_dir():
        raise DataError(f"'{path}' is a folder; give the name of a file.")
    if not path.exists():
        raise DataError(f"There is no file '{path}'.")
    try:
        if ending == ".parquet":
            return pd.read_parquet(path)
        return pd.read_csv(path, sep=SEPARATORS[ending])
    except ImportError as error:
        raise MissingExtraError("Reading .parquet files needs pyarrow: pip install pyarrow.") from error
    except Exception as error:  # every reader has errors of its own
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"'{path}' could not be read: {first}") from error


def order_response(data: pd.DataFrame, formula: str, levels: str) -> pd.DataFrame:
    """Return the data with the levels of the response in the order of a list such as "low,mid,high".

    Examples
    --------
    >>> data = order_response(pd.DataFrame({"y": ["b", "a", "c"]}), "y ~ x", "c,b,a")
    >>> data["y"].cat.categories.tolist()
    ['c', 'b', 'a']
    """
    response = formula.partition("~")[0].strip()
    if response not in data.columns:
        raise OptionError(f"--levels orders a column, and the response '{response}' is not one.")
    order = [level.strip() for level in levels.split(",")]
    if len(set(order)) < len(order) or "" in order:
        raise OptionError(f"--levels {levels} must name every level once: A,B,C.")
    text = data[response].map(_as_written, na_action="ignore")
    unknown = sorted(set(text.dropna()) - set(order))
    if unknown:
        raise OptionError(f"--levels lacks {listed(unknown)}, which the column '{response}' holds.")
    return data.assign(**{response: pd.Categorical(text, categories=order, ordered=True)})


def _as_written(value: object) -> str:
    # a column of whole numbers with a gap is read as 1.0, 2.0
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
