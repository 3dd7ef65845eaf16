"""What readers are shown of a kernel fit: the same record as for a linear fit, one row a level."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import numpy as np

from relbounds.errors import counted
from relbounds.kernel.machine import supporting
from relbounds.show.citations import SLACKS, SVOR, list_references
from relbounds.show.facts import Facts, Pairs
from relbounds.show.settings import settings_of
from relbounds.version import __version__

if TYPE_CHECKING:
    from relbounds.kernel.results import SvorResults

FLAT = 0.1  # a decision function that varies by less is made of correcting functions alone
METHODS = {
    # slack: name with two levels, with more, and with a privileged part
    "free": ("SVM, free slacks", "SVOR, free slacks", "SVOR, free slacks"),
    "modelled": ("SVM, modelled slacks", "SVOR, modelled slacks", "modelled slacks (SVM+)"),
    "mixed": ("SVM, mixed slacks", "SVOR, mixed slacks", "mixed slacks (SVM+)"),
}
COLUMNS = ("n", "support", "at_limit", "wrong", "off")
# What an array of options is called where it is too long to be read.
UNREADABLE = ("rows_kept", "rows_given")


def kernel_facts(fit: SvorResults) -> Facts:
    """Return table, header and notes of a kernel fit."""
    left, right = _header(fit)
    metric = fit.tuned.metric.upper()
    return Facts(
        title="Support vector ordinal regression",
        formula=fit.formula,
        response=fit.design.response,
        table=fit.table,
        columns=COLUMNS,
        left=left,
        right=right,
        notes=fit.notes,
        settings=settings_of({name: v for name, v in fit.options.items() if name not in UNREADABLE}),
        compared=(
            ("Observations", str(len(fit.design.y))),
            ("C", f"{fit.machine.options.C:.3g}"),
            (f"{metric}, training", f"{fit.score(metric=fit.tuned.metric):.3f}"),
        ),
        methods=_methods(fit),
    )


def _methods(fit: SvorResults) -> str:
    """Return what was done, in words that a journal accepts, and the references under it."""
    design, chosen, kernel = fit.design, fit.machine.options, fit.machine.kernel
    slack = {
        "free": "",
        "modelled": f" Slacks were modelled as functions of {'privileged' if design.Z.shape[1] else 'the same'} "
        f"features ({SLACKS.cited}).",
        "mixed": f" Slacks were fixed at a mixture of free and modelled ones ({SLACKS.cited}).",
    }[chosen.slack]
    how = (
        "set beforehand" if fit.tuned.score is None else f"chosen by {fit.tuned.folds}-fold cross-validation"
    )
    dropped = (
        f" ({counted(design.n_dropped, 'further row')} with missing values left out)"
        if design.n_dropped
        else ""
    )
    text = (
        f"A support vector ordinal regression with {chosen.order} order of thresholds ({SVOR.cited}) and kernel "
        f"{kernel.label} was fitted to the {len(fit.levels)} levels of {design.response} on "
        f"{counted(len(design.y), 'observation')}{dropped}; C = {chosen.C:.4g} was {how}.{slack} Computations were "
        f"done with relbounds {__version__} under Python {platform.python_version()}; the formula was {design.formula}."
    )
    papers = (SVOR,) if chosen.slack == "free" else (SVOR, SLACKS)
    return f"{text}\n\n{list_references(papers)}"


def _header(fit: SvorResults) -> tuple[Pairs, Pairs]:
    design, machine, setting = fit.design, fit.machine, fit.machine.options
    privileged = design.Z.shape[1]
    name = METHODS[setting.slack][0 if len(fit.levels) == 2 else 1]
    if privileged and setting.slack != "free":
        name = METHODS[setting.slack][2]
    how = "" if fit.tuned.score is None or "C" not in fit.tuned.table else f" ({fit.tuned.folds}-fold CV)"
    metric = fit.tuned.metric
    total = int(supporting(machine).sum())
    left = [
        ("Response:", design.response),
        ("Levels:", str(len(fit.levels))),
        ("No. Observations:", str(len(design.y))),
        ("Dropped (missing):", str(design.n_dropped)),
        ("Features:", f"{design.X.shape[1]}" + (f" + {privileged} privileged" if privileged else "")),
        ("Method:", name),
        ("Order:", setting.order),
        ("Solver:", f"{machine.solver}, {machine.steps} steps"),
    ]
    right = [
        ("Kernel:", machine.kernel.label),
        ("C:", f"{setting.C:.4g}{how}"),
        ("Support vectors:", f"{total} ({100 * total / len(design.y):.0f} %)"),
        ("Dual objective:", f"{fit.kkt.dual:.6g}"),
        ("KKT violation:", f"{fit.kkt.violation:.1e}"),
        ("Thresholds ordered:", "yes" if fit.kkt.ordered else "NO"),
        (f"{metric.upper()}, training:", f"{fit.score(metric=metric):.3f}"),
        (
            f"{metric.upper()}, cross-validated:",
            "-" if fit.tuned.score is None else f"{fit.tuned.score:.3f}",
        ),
    ]
    if setting.slack != "free":
        left += [("Slack kernel:", setting.slack_kernel_made().label)]
        right += [
            (
                "Gamma:",
                f"{setting.gamma:.4g}" + (f", mix {setting.mix:.3g}" if setting.slack == "mixed" else ""),
            )
        ]
    right += [(f"Threshold {name}:", f"{value:.4f}") for name, value in fit.thresholds.items()]
    return tuple(left), tuple(right)


def kernel_notes(fit: SvorResults) -> list[str]:
    """Return what the numbers mean, and every caveat."""
    setting = fit.machine.options
    notes = [
        "A row is predicted to be of the level between whose thresholds its decision value lies. "
        "Support vectors are the rows "
        "that the decision function is made of; at limit: rows whose multiplier reached its limit, C "
        "times their weight.",
        f"The KKT violation is recomputed from the multipliers and thresholds; duality gap "
        f"{fit.kkt.gap:.1e}.",
    ]
    if setting.balance:
        notes.append(
            "Both sides of every threshold weigh the same, however many rows they hold; balance=False is the "
            "published model."
        )
    if setting.order == "none":
        notes.append("order='none' does not keep the thresholds in order; it is there for comparison.")
    if setting.slack == "mixed":
        notes.append(
            "Slacks are fixed at a mixture of free and modelled ones; multipliers then have no limit."
        )
    spread = float(np.ptp(fit.machine.f))
    if setting.slack != "free" and spread < FLAT:
        flat = f"nearly flat (it varies by {spread:.2g}, while a margin is 1 wide)"
        notes.append(
            f"The decision function is {flat if spread else 'flat and predicts one level'}: "
            "the correcting functions do its work. Use a smaller slack_width, another gamma, or "
            "slack='free'."
        )
    if setting.slack == "free" and fit.design.Z.shape[1]:
        notes.append("slack='free': the privileged features are not used.")
    if not np.isfinite(fit.machine.b).all():
        notes.append("A level without rows at either end is never predicted.")
    return [*notes, *fit.tuned.notes, *fit.design.notes]
