"""Support vector ordinal regression with kernels, and slacks that are functions."""

from relbounds.kernel.api import fit_svor, svor
from relbounds.kernel.machine import Setting, fit_machine
from relbounds.kernel.results import SvorResults

__all__ = ["Setting", "SvorResults", "fit_machine", "fit_svor", "svor"]
