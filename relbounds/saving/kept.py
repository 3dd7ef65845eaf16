"""What every kind of fit inherits to be written to a file and read back."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from relbounds.checks import shown
from relbounds.errors import DataError, RelboundsWarning, listed
from relbounds.files import write_whole
from relbounds.saving.archive import Stored, damaged, read_archive, write_archive
from relbounds.saving.values import Decoder, Encoder, Format, declared


class Kept(ABC):
    """A fit that can be written to a file.

    A subclass names its `_kind`, the classes its content is made of (`_made_of`; what their fields are declared to hold
    is found from there), and how a class is stored whose fields are not enough (`_formats`).
    """

    _kind: ClassVar[str]
    _made_of: ClassVar[tuple[type, ...]] = ()
    _formats: ClassVar[Mapping[type, Format]] = {}

    @abstractmethod
    def _content(self) -> Any:
        """Return what a file keeps."""

    @classmethod
    @abstractmethod
    def _rebuild(cls, content: Any) -> Self:
        """Turn what a file keeps into a fit."""

    def to_bytes(self) -> bytes:
        """Return the fit as bytes, for :meth:`from_bytes`: what :meth:`save` writes.

        Returns
        -------
        bytes

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=20)
        >>> rb.RelboundsResults.from_bytes(fit.to_bytes()).table.equals(fit.table)
        True
        """
        encoder = Encoder(self._formats, declared(*self._made_of))
        content = encoder.value(self._content())
        if encoder.functions:
            example = encoder.functions[0]
            warnings.warn(
                f"The fit uses {listed(encoder.functions)}, which a file cannot hold: hand it over when loading, "
                f"rb.load(path, functions={{'{example}': {example}}}).",
                RelboundsWarning,
                stacklevel=3,
            )
        return write_archive(self._kind, content, encoder.arrays)

    @classmethod
    def from_bytes(cls, content: bytes, functions: Mapping[str, Any] | None = None) -> Self:
        """Rebuild a fit from :meth:`to_bytes`; nothing in the bytes is run.

        Parameters
        ----------
        content : bytes
        functions : mapping, optional
            Functions of your own that the fit uses, by name.

        Returns
        -------
        RelboundsResults, SvorResults or ForestResults
            Of the class that it is called on.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> rb.RelboundsResults.from_bytes(fit.to_bytes()).selected("strong")
        ['x1', 'x2', 'x3']
        """
        if not isinstance(content, bytes | bytearray | memoryview):
            raise DataError(f"A saved fit comes as bytes, not as {shown(content)}.")
        return cls._from_stored(read_archive(bytes(content)), functions)

    @classmethod
    def _from_stored(cls, stored: Stored, functions: Mapping[str, Any] | None) -> Self:
        if stored.kind != cls._kind:
            raise DataError(f"The file holds a {stored.kind}, not a {cls._kind}; rb.load() reads either.")
        decoder = Decoder(declared(*cls._made_of), cls._formats, stored.array, functions)
        try:
            return cls._rebuild(decoder.value(stored.content))
        except Exception as error:  # whatever is wrong with a crafted file, its reader meets one clear error
            raise damaged(f"{error}, written by relbounds {stored.made_by}") from error

    def save(self, path: str | Path) -> Path:
        """Write the fit to a file; :func:`relbounds.load` reads it back, and runs nothing of it.

        Parameters
        ----------
        path : str or Path
            Where to write; the ending ``.relbounds`` is usual.

        Returns
        -------
        Path

        Examples
        --------
        >>> import tempfile, relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=20)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     again = rb.load(fit.save(folder + "/fit.relbounds"))
        >>> again.table.equals(fit.table)
        True
        """
        return write_whole(path, self.to_bytes())


def read_file(path: Any, kinds: Sequence[type[Kept]], functions: Mapping[str, Any] | None = None) -> Any:
    """Read a saved fit of whichever kind it is."""
    try:
        data = Path(path).read_bytes()
    except TypeError:
        raise DataError(f"The path of a saved fit must be text or a Path, not {shown(path)}.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise DataError(f"There is no file '{path}'.") from error
        raise DataError(f"'{path}' cannot be read: {error}.") from error
    stored = read_archive(data)
    for kind in kinds:
        if kind._kind == stored.kind:
            return kind._from_stored(stored, functions)
    raise DataError(f"'{path}' holds a {stored.kind!r}, which this version of relbounds does not know.")
