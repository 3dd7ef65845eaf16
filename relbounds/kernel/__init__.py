"""Support vector ordinal regression with kernels, and slacks that are functions.

Gets a design (features, ordered levels, privileged features); gives a decision function with one threshold between any
two neighbouring levels. ``api`` is the front door, ``tuning`` chooses by cross-validation, ``fitting`` turns arrays
into a ``machine``. The dual is written down in ``margins``; ``smo`` takes it two multipliers at a time, ``qp`` (free
slacks) and ``slacks`` (slacks that are functions) as a whole; ``kkt`` checks what any of them claims.
"""

from relbounds.kernel.api import fit_svor, svor
from relbounds.kernel.fitting import fit_machine
from relbounds.kernel.options import SvorOptions
from relbounds.kernel.results import SvorResults

__all__ = ["SvorOptions", "SvorResults", "fit_machine", "fit_svor", "svor"]
