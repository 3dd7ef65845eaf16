"""Fits as files: what every kind of fit keeps, and how it is read back."""

from __future__ import annotations

import gzip
import pickle
import platform
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

from relbounds.errors import DataError
from relbounds.version import __version__


class Kept(ABC):
    """A fit that can be written to a file; the first bytes of a file name its kind."""

    _magic: ClassVar[bytes]

    @abstractmethod
    def _content(self) -> Any:
        """Return what a file keeps."""

    @classmethod
    @abstractmethod
    def _rebuild(cls, content: Any) -> Self:
        """Turn what a file keeps into a fit."""

    def to_bytes(self) -> bytes:
        """Return the fit as bytes, for :meth:`from_bytes`."""
        head = self._magic + f"{__version__} {platform.python_version()}\n".encode()
        try:
            body = pickle.dumps(self._content(), protocol=5)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise DataError(
                f"The fit cannot be saved: {error}. A function that it uses must live in a module (no lambda, nothing "
                "from an interactive session)."
            ) from error
        return head + gzip.compress(body, compresslevel=3, mtime=0)

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Rebuild a fit from :meth:`to_bytes`. Only open content you trust: it is a pickle."""
        if not content.startswith(cls._magic):
            raise DataError("This is not a saved relbounds fit; files made by fit.save() can be loaded.")
        version, _, body = content[len(cls._magic) :].partition(b"\n")
        try:
            return cls._rebuild(pickle.loads(gzip.decompress(body)))
        except Exception as error:
            raise DataError(
                f"The saved fit was made by relbounds {version.decode()} and cannot be read by this version "
                f"({type(error).__name__}: {error}). Fit it again."
            ) from error

    def save(self, path: str | Path) -> Path:
        """Write the fit to a file; :func:`relbounds.load` reads it back.

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
        path = Path(path)
        path.write_bytes(self.to_bytes())
        return path
