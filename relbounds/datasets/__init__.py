"""Data sets that come with the package."""

from relbounds.datasets.shipped import load_breast_cancer, load_housing, load_severity, load_wine

__all__ = ["load_breast_cancer", "load_housing", "load_severity", "load_wine"]
