"""The version of the package, known to every room."""

__version__ = "0.2.0"
