"""Which variables matter in every equally good model, in some, or in none."""

__version__ = "0.1.0"
