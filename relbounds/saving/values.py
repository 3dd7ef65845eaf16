"""Facts into JSON and arrays, and back: numbers, text, dates, containers, pandas objects, dataclasses, named tuples.

In the JSON an array is a tuple, and every object has one key that says what it is: ``{"list": [...]}``,
``{"array": 3}``, ``{"fact": ["linear.fit.Fitted", {...}]}``. The classes that a file may name are those that the fields
of the root class are declared to hold, and theirs in turn: nothing is looked up by a name from a file, nothing is
imported. A class that names some of its fields in `_not_stored` gets their defaults back.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import fractions
import functools
import inspect
import math
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relbounds.errors import DataError

# How a class is turned into plain values, and made again from them, where its fields are not enough.
Format = tuple[Callable[[Any], Any], Callable[[Any], Any]]


@dataclass(frozen=True)
class Lost:
    """Stands for a function of the user's, which a file cannot hold; using it says so."""

    name: str

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Say what is missing."""
        raise DataError(
            f"The fit uses the function '{self.name}', which a file cannot hold. "
            f"Load it with rb.load(path, functions={{'{self.name}': {self.name}}})."
        )


def label(kind: type) -> str:
    """Return the name of a class as files hold it.

    Examples
    --------
    >>> label(Lost)
    'saving.values.Lost'
    """
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("relbounds.")


@functools.cache
def declared(*roots: type) -> dict[str, type]:
    """Return, by name, the dataclasses that may occur inside some classes, by what their fields are declared to be.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Pair:
    ...     first: Lost | None
    ...     rest: tuple["Lost", ...]
    >>> [name.rpartition(".")[2] for name in declared(Pair)]
    ['Pair', 'Lost']
    """
    found: dict[str, type] = {}
    waiting = list(roots)
    while waiting:
        kind = waiting.pop(0)
        if label(kind) in found:
            continue
        found[label(kind)] = kind
        for hint in hints(kind).values():
            waiting += [one for one in _inside(hint) if is_record(one)]
    return found


def is_record(kind: type) -> bool:
    """Say whether a class is a dataclass or a named tuple, that is known by its fields."""
    return dataclasses.is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def field_names(kind: type) -> tuple[str, ...]:
    """Return the fields that make up a record, but for those it leaves out of files."""
    if not dataclasses.is_dataclass(kind):
        return tuple(getattr(kind, "_fields", ()))
    left_out = getattr(kind, "_not_stored", ())
    return tuple(one.name for one in dataclasses.fields(kind) if one.init and one.name not in left_out)


@functools.cache
def hints(kind: type) -> dict[str, Any]:
    """Return what the fields of a record are declared to hold; Any where only type checkers know the name."""
    out = {}
    for name in field_names(kind):
        home = next(c for c in kind.__mro__ if name in inspect.get_annotations(c))
        about = {
            "__annotations__": {name: inspect.get_annotations(home)[name]},
            "__module__": home.__module__,
        }
        try:
            out[name] = typing.get_type_hints(type(kind.__name__, (), about))[name]
        except NameError:
            out[name] = Any
    return out


def _inside(hint: Any) -> Iterator[Any]:
    if isinstance(hint, type) and not typing.get_args(hint):
        yield hint
    for one in typing.get_args(hint):
        yield from _inside(one)


class Encoder:
    """Turns values into JSON; arrays are put aside in `arrays`, names of functions in `functions`.

    Examples
    --------
    >>> encoder = Encoder({})
    >>> encoder.value((1, [math.inf], "a")), encoder.value(np.arange(2))
    ([1, {'list': [{'float': 'inf'}]}, 'a'], {'array': 0})
    """

    def __init__(self, formats: Mapping[type, Format], known: Mapping[str, type] | None = None) -> None:
        self.formats, self.known = formats, known
        self.arrays: list[np.ndarray] = []
        self.functions: list[str] = []
        self._places: dict[int, int] = {}

    def value(self, value: Any, where: str = "fit") -> Any:
        """Return a value as JSON; `where` names its place in messages."""
        if value is None or type(value) in (bool, str, int):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return [self.value(v, f"{where}[{i}]") for i, v in enumerate(value)]
        if isinstance(value, list):
            return {"list": [self.value(v, f"{where}[{i}]") for i, v in enumerate(value)]}
        if isinstance(value, Mapping):
            pairs = [[self.value(k, where), self.value(v, f"{where}[{k!r}]")] for k, v in value.items()]
            return {"dict": pairs}
        if isinstance(value, np.ndarray):
            return self.array(value, where)
        if type(value) in self.formats:
            plain = self.formats[type(value)][0](value)
            return {"made": [label(type(value)), self.value(plain, where)]}
        if is_record(type(value)):
            return self._fact(value, where)
        found = _encode_scalar(value)
        if found is None:
            found = self._pandas(value, where)
        if found is None and (callable(value) or isinstance(value, types.ModuleType)):
            found = self._function(value)
        if found is None:
            raise DataError(
                f"{where} is of type {type(value).__name__}, which a file cannot hold, so the fit cannot be saved."
            )
        return found

    def array(self, value: np.ndarray, where: str) -> Any:
        """Put an array aside, once however often it occurs; one of objects is written value by value."""
        if value.dtype.hasobject:
            flat = [self.value(v, where) for v in value.ravel().tolist()]
            return {"objects": [list(value.shape), flat]}
        if id(value) not in self._places:
            self._places[id(value)] = len(self.arrays)
            self.arrays.append(value)  # which also keeps its id from being given to another
        return {"array": self._places[id(value)]}

    def _fact(self, value: Any, where: str) -> Any:
        kind = type(value)
        if self.known is not None and self.known.get(label(kind)) is not kind:
            raise DataError(f"{where} holds a {kind.__name__}, which no field is declared to hold.")
        held = {name: self.value(getattr(value, name), f"{where}.{name}") for name in field_names(kind)}
        return {"fact": [label(kind), held]}

    def _pandas(self, value: Any, where: str) -> Any:
        if isinstance(value, pd.DataFrame):
            columns = [self._column(value.iloc[:, j].array, where) for j in range(value.shape[1])]
            return {"frame": [self.value(value.index, where), self.value(value.columns, where), columns]}
        if isinstance(value, pd.Series):
            index, name = self.value(value.index, where), self.value(value.name, where)
            return {"series": [index, name, self._column(value.array, where)]}
        if isinstance(value, pd.RangeIndex):
            return {"range": [value.start, value.stop, value.step, self.value(value.name, where)]}
        if isinstance(value, pd.MultiIndex):
            parts = (list(value.levels), [np.asarray(c) for c in value.codes], list(value.names))
            return {"multi": [self.value(p, where) for p in parts]}
        if isinstance(value, pd.Index):
            return {"index": [self._column(value.array, where), self.value(value.name, where)]}
        if isinstance(value, pd.api.extensions.ExtensionArray):
            return {"column": self._column(value, where)}
        return None

    def _column(self, values: Any, where: str) -> Any:
        """Return a pandas array: its type, and what it holds."""
        if isinstance(values, pd.Categorical):
            codes = np.asarray(values.codes)
            return ["category", self.value((values.categories, codes, bool(values.ordered)), where)]
        dtype = values.dtype
        if isinstance(dtype, np.dtype):
            return ["numpy", self.value(values.to_numpy(), where)]
        if isinstance(dtype, pd.DatetimeTZDtype):
            moments = values.tz_convert("UTC").tz_localize(None).to_numpy()
            return ["zoned", self.value((str(dtype.tz), moments), where)]
        return [str(dtype), self.value(np.asarray(values, dtype=object), where)]

    def _function(self, value: Any) -> Any:
        name = getattr(value, "__name__", type(value).__name__)
        if name not in self.functions:
            self.functions.append(name)
        return {"function": name}


class Decoder:
    """Turns JSON back into values.

    Examples
    --------
    >>> Decoder({}, {}, lambda i: np.arange(2)).value([1, {"list": [{"float": "inf"}]}, {"array": 0}])
    (1, [inf], array([0, 1]))
    """

    def __init__(
        self,
        known: Mapping[str, type],
        formats: Mapping[type, Format],
        array: Callable[[int], np.ndarray],
        functions: Mapping[str, Any] | None = None,
    ) -> None:
        self.known, self.array, self.functions = known, array, dict(functions or {})
        self.formats = {label(kind): makers[1] for kind, makers in formats.items()}

    def value(self, held: Any) -> Any:
        """Return the value that a piece of JSON stands for."""
        if isinstance(held, list):
            return tuple(self.value(v) for v in held)
        if not isinstance(held, dict):
            return held
        (kind, inner), *more = held.items()
        if more:
            raise ValueError("a value has two kinds")
        own = getattr(self, f"_read_{kind}", None)
        if own is not None:
            return own(inner)
        if kind in _SCALARS:
            return _SCALARS[kind](inner)
        raise ValueError(f"values of the kind {kind!r} are not known")

    def _read_list(self, inner: Any) -> list[Any]:
        return [self.value(v) for v in inner]

    def _read_dict(self, inner: Any) -> dict[Any, Any]:
        return {self.value(k): self.value(v) for k, v in inner}

    def _read_array(self, inner: Any) -> np.ndarray:
        return self.array(int(inner))

    def _read_objects(self, inner: Any) -> np.ndarray:
        shape, flat = inner
        out = np.empty(len(flat), dtype=object)
        for i, one in enumerate(flat):
            out[i] = self.value(one)
        return out.reshape([int(side) for side in shape])

    def _read_made(self, inner: Any) -> Any:
        name, plain = inner
        return self.formats[name](self.value(plain))

    def _read_fact(self, inner: Any) -> Any:
        name, fields = inner
        kind = self.known.get(name)
        if kind is None:
            raise ValueError(f"{name!r} is no part of a fit")
        declared_to_be = hints(kind)
        values = {}
        for field, one in fields.items():
            if field not in declared_to_be:
                raise ValueError(
                    f"{name} has no field {field!r}; a newer version of relbounds may have written it"
                )
            values[field] = self.value(one)
            if not suits(values[field], declared_to_be[field]):
                raise ValueError(f"the field {field!r} of {name} holds a {type(values[field]).__name__}")
        return kind(**values)

    def _read_function(self, inner: Any) -> Any:
        return self.functions.get(inner, Lost(str(inner)))

    def _read_frame(self, inner: Any) -> pd.DataFrame:
        index, columns, values = inner
        index = self.value(index)
        data = {j: self._column(one) for j, one in enumerate(values)}
        frame = pd.DataFrame(data, index=index, columns=range(len(values)))
        frame.columns = self.value(columns)
        return frame

    def _read_series(self, inner: Any) -> pd.Series:
        index, name, values = inner
        return pd.Series(self._column(values), index=self.value(index), name=self.value(name))

    def _read_range(self, inner: Any) -> pd.RangeIndex:
        start, stop, step, name = inner
        return pd.RangeIndex(int(start), int(stop), int(step), name=self.value(name))

    def _read_multi(self, inner: Any) -> pd.MultiIndex:
        levels, codes, names = (self.value(one) for one in inner)
        return pd.MultiIndex(levels=levels, codes=codes, names=names)

    def _read_index(self, inner: Any) -> pd.Index:
        values, name = inner
        return pd.Index(self._column(values), name=self.value(name))

    def _read_column(self, inner: Any) -> Any:
        return self._column(inner)

    def _column(self, held: Any) -> Any:
        dtype, values = held
        values = self.value(values)
        if dtype == "category":
            categories, codes, ordered = values
            return pd.Categorical.from_codes(codes, categories=categories, ordered=ordered)
        if dtype == "numpy":
            return values
        if dtype == "zoned":
            zone, moments = values
            return pd.DatetimeIndex(moments).tz_localize("UTC").tz_convert(zone)
        return pd.array(values, dtype=dtype)


def suits(value: Any, hint: Any) -> bool:
    """Say whether a value can be what a field is declared to hold, as far as its outermost type shows.

    Examples
    --------
    >>> suits(1, float), suits("1", float | None), suits((1, 2), tuple[int, ...])
    (True, False, True)
    """
    origin = typing.get_origin(hint)
    if hint is Any or (origin is None and not isinstance(hint, type)):
        return True  # Any, type variables, names that only type checkers know
    if origin in (typing.Union, types.UnionType):
        return any(suits(value, one) for one in typing.get_args(hint))
    kind = origin or hint
    if kind is float:
        return isinstance(value, float | int | np.number) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    if kind is Callable or "Callable" in repr(kind):
        return callable(value)
    return isinstance(value, kind) if isinstance(kind, type) else True


def _encode_scalar(value: Any) -> Any:
    """Return a single value as JSON, or None where it is something else."""
    if value is pd.NA:
        return {"na": None}
    if value is pd.NaT:
        return {"nat": None}
    if isinstance(value, np.generic):
        return {"numpy": [value.dtype.str, base64.b64encode(value.tobytes()).decode()]}
    for kind, (write, _) in _WRITTEN.items():
        if type(value) is kind:
            return {_name_of(kind): write(value)}
    # subclasses of plain types: what they are called is lost
    if isinstance(value, float):
        return {"float": repr(float(value))}
    return int(value) if isinstance(value, int) else str(value) if isinstance(value, str) else None


def _read_numpy(inner: Any) -> Any:
    dtype, data = np.dtype(inner[0]), base64.b64decode(inner[1])
    if dtype.hasobject or len(data) != dtype.itemsize:
        raise ValueError("a number is not what it claims to be")
    return np.frombuffer(data, dtype=dtype)[0]


def _write_moment(value: pd.Timestamp) -> list[Any]:
    zone = None if value.tz is None else str(value.tz)
    plain = value if value.tz is None else value.tz_convert("UTC").tz_localize(None)
    return [int(plain.asm8.astype("int64")), value.unit, zone]


def _ticks(count: Any, kind: str, unit: Any) -> Any:
    return np.array(int(count), dtype="int64").view(f"{kind}[{unit}]")[()]


def _read_moment(inner: Any) -> pd.Timestamp:
    ticks, unit, zone = inner
    plain = pd.Timestamp(_ticks(ticks, "M8", unit))
    return plain if zone is None else plain.tz_localize("UTC").tz_convert(str(zone))


def _write_interval(value: pd.Interval) -> list[Any]:
    ends = []
    for end in (value.left, value.right):
        ends.append(
            end if type(end) is int or (type(end) is float and math.isfinite(end)) else _encode_scalar(end)
        )
    return [*ends, value.closed]


def _read_interval(inner: Any) -> pd.Interval:
    ends = [
        _SCALARS[next(iter(end))](next(iter(end.values()))) if isinstance(end, dict) else end
        for end in inner[:2]
    ]
    return pd.Interval(*ends, closed=inner[2])


_WRITTEN: dict[type, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    float: (repr, float),
    complex: (repr, complex),
    bytes: (lambda v: base64.b64encode(v).decode(), base64.b64decode),
    pd.Timestamp: (_write_moment, _read_moment),
    pd.Timedelta: (
        lambda v: [int(v.asm8.astype("int64")), v.unit],
        lambda v: pd.Timedelta(_ticks(v[0], "m8", v[1])),
    ),
    pd.Interval: (_write_interval, _read_interval),
    pd.Period: (lambda v: [str(v), v.freqstr], lambda v: pd.Period(v[0], freq=v[1])),
    datetime.datetime: (lambda v: v.isoformat(), datetime.datetime.fromisoformat),
    datetime.date: (lambda v: v.isoformat(), datetime.date.fromisoformat),
    datetime.time: (lambda v: v.isoformat(), datetime.time.fromisoformat),
    datetime.timedelta: (
        lambda v: [v.days, v.seconds, v.microseconds],
        lambda v: datetime.timedelta(*(int(part) for part in v)),
    ),
    decimal.Decimal: (str, decimal.Decimal),
    fractions.Fraction: (str, fractions.Fraction),
}


def _name_of(kind: type) -> str:
    return "moment" if kind is pd.Timestamp else "span" if kind is pd.Timedelta else kind.__name__.lower()


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "na": lambda _: pd.NA,
    "nat": lambda _: pd.NaT,
    "numpy": _read_numpy,
    **{_name_of(kind): read for kind, (_, read) in _WRITTEN.items()},
}
