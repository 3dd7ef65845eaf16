"""The zip file: a JSON member that says what the file holds, and one ``.npy`` member per array.

Whatever comes from a file is checked before it is believed: sizes before anything is unpacked, headers of arrays
before memory is taken, and no array holds Python objects.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib import format as npy

from relbounds.errors import DataError
from relbounds.version import __version__

FORMAT = 1
MANIFEST = "relbounds.json"
# Unpacked bytes over packed ones that no honest fit reaches: its data are numbers, which hardly shrink. Arrays of
# zeros shrink a thousandfold, so small files are let through whatever they claim.
RATIO, HARMLESS = 200, 64 * 2**20
MEMBERS = 100_000
FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the same fit gives the same bytes


@dataclass(frozen=True)
class Stored:
    """What a file holds: the kind of fit, the version that wrote it, its facts as JSON, and its arrays."""

    kind: str
    content: Any
    array: Callable[[int], np.ndarray]
    made_by: str


def write_archive(kind: str, content: Any, arrays: Sequence[np.ndarray]) -> bytes:
    """Return the bytes of a file.

    Examples
    --------
    >>> read_archive(write_archive("fit", {"array": 0}, [np.arange(3)])).array(0)
    array([0, 1, 2])
    """
    manifest = {"format": FORMAT, "kind": kind, "relbounds": __version__, "content": content}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as file:
        file.writestr(_member(MANIFEST), json.dumps(manifest, allow_nan=False, separators=(",", ":")))
        for i, array in enumerate(arrays):
            held = io.BytesIO()
            npy.write_array(held, array, allow_pickle=False)
            file.writestr(_member(f"arrays/{i}.npy"), held.getvalue())
    return out.getvalue()


def read_archive(data: bytes) -> Stored:
    """Read what a file holds, as far as it can be understood without knowing about fits.

    Examples
    --------
    >>> read_archive(b"something else")
    Traceback (most recent call last):
    ...
    relbounds.errors.DataError: This is not a saved relbounds fit; files made by fit.save() can be loaded.
    """
    try:
        file = zipfile.ZipFile(io.BytesIO(data))
        names = file.namelist()
    except Exception as error:  # a damaged directory shows in many ways
        if data[:2] == b"PK":
            raise damaged(error) from error
        raise foreign() from error
    if MANIFEST not in names:
        raise foreign()
    _check_sizes(file, len(data))
    try:
        manifest = json.loads(file.read(MANIFEST))
        known, kind, made_by = manifest["format"], manifest["kind"], str(manifest["relbounds"])
        content = manifest["content"]
    except Exception as error:
        raise damaged(error) from error
    if not isinstance(known, int) or not isinstance(kind, str):
        raise damaged("the first member is not what relbounds writes")
    if known > FORMAT:
        raise DataError(
            f"This fit was saved by relbounds {made_by} in a newer format ({known}; this version, {__version__}, reads "
            f"{FORMAT}). Update relbounds to load it."
        )
    return Stored(kind, content, _arrays(file), made_by)


def damaged(reason: object) -> DataError:
    """Return the error for a file that was a saved fit once."""
    text = str(reason) or type(reason).__name__
    return DataError(f"The saved fit is damaged and cannot be read ({text}). Save it again, or fit again.")


def foreign() -> DataError:
    """Return the error for a file that never was a saved fit."""
    return DataError("This is not a saved relbounds fit; files made by fit.save() can be loaded.")


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, FIRST_DAY)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _check_sizes(file: zipfile.ZipFile, packed: int) -> None:
    """Refuse files that claim to unpack to absurdly more than they are; no member is read beyond its claim."""
    members = file.infolist()
    total = sum(member.file_size for member in members)
    if len(members) > MEMBERS or (total > HARMLESS and total > RATIO * packed):
        raise DataError(
            f"The file claims to hold {len(members)} members of {total / 2**20:.0f} MiB in {packed / 2**20:.1f} MiB, "
            "which no saved fit does; it is not loaded."
        )


def _arrays(file: zipfile.ZipFile) -> Callable[[int], np.ndarray]:
    found: dict[int, np.ndarray] = {}

    def array(i: int) -> np.ndarray:
        if i not in found:
            found[i] = read_array(file.read(f"arrays/{int(i)}.npy"))
        return found[i]

    return array


def read_array(data: bytes) -> np.ndarray:
    """Read an ``.npy`` member; what its header claims must be what is there.

    Examples
    --------
    >>> held = io.BytesIO()
    >>> np.save(held, np.eye(2))
    >>> read_array(held.getvalue()).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    held = io.BytesIO(data)
    version = npy.read_magic(held)
    if version == (1, 0):
        shape, fortran, dtype = npy.read_array_header_1_0(held)
    elif version == (2, 0):
        shape, fortran, dtype = npy.read_array_header_2_0(held)
    else:
        raise ValueError(f"arrays of version {version} are not known")
    if dtype.hasobject:
        raise ValueError("an array claims to hold Python objects")
    body = data[held.tell() :]
    if any(side < 0 for side in shape) or math.prod(shape) * dtype.itemsize != len(body):
        raise ValueError(f"an array claims the shape {shape} and has {len(body)} bytes")
    # a copy, because what was read cannot be written to
    flat = np.frombuffer(body, dtype=dtype).copy() if body else np.zeros(math.prod(shape), dtype=dtype)
    return flat.reshape(shape, order="F" if fortran else "C")
