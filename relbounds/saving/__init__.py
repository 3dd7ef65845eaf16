"""Fits as files: a zip of JSON and ``.npy`` members, from which nothing is ever run.

Gets a fit of any kind, gives bytes, and the other way round. ``archive`` knows zip files and their limits,
``values`` turns facts into JSON and arrays and back, ``kept`` is what a fit inherits to have `save` and `to_bytes`.
"""

from relbounds.saving.archive import Stored, read_archive
from relbounds.saving.kept import Kept, read_file
from relbounds.saving.values import Lost

__all__ = ["Kept", "Lost", "Stored", "read_archive", "read_file"]
