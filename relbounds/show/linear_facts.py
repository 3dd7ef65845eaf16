"""What readers are shown of a linear fit: header, notes, settings and the lines it is compared by."""

from __future__ import annotations

import pandas as pd

from relbounds.linear.families import family_of
from relbounds.linear.fitted import Fitted
from relbounds.show.facts import Facts, Pairs
from relbounds.show.methods_text import linear_methods
from relbounds.show.settings import settings_of
from relbounds.show.walk import count_classes, part_shown

COLUMNS = (
    "weight",
    "lower",
    "upper",
    "signed_lower",
    "signed_upper",
    "lower_moves",
    "upper_moves",
    "p_noise",
    "p_adjusted",
    "relevance",
    "direction",
    "constraint",
    "stability",
)
# A bound is called proved where its gap, as a share of the norm, is below what the table shows by far.
PROVED = 1e-6
MEANING = (
    "lower and upper are the least and the most that any equivalent model uses a term, as shares of the best model's "
    "norm. Strong: needed by every equivalent model; weak: used by some; irrelevant: not distinguishable from noise."
)
LEVELS = (
    "The row of a factor is its largest contrast between two levels; rows under it are its levels' deviations from the "
    "average level, with their signed range."
)
BALANCED = "Balance: at each threshold both sides weigh the same, however many observations each has."
BALANCED_CLASSES = "Balance: every level weighs the same, however many observations it has."
WEIGHTS = "weight is a term's weight in the best model, as a share of its norm."
ABOUT = {
    "nominal": "Levels have no order: the use of a term is its largest contrast between two levels of the response.",
    "survival": "A higher score means longer survival.",
}
COLUMN_ROWS = "The row of a term with several columns is the sum of their absolute weights."
MOVES = (
    "In brackets: how far lower and upper move between the imputed data sets, from the least to the greatest."
)
ADJUSTED = "Adjusting covariates are in every model without penalty; they have coefficients and ranges, but no class."


def linear_facts(fitted: Fitted, training: float | None) -> Facts:
    """Return everything a reader is shown of a linear fit.

    Parameters
    ----------
    fitted : Fitted
    training : float or None
        The score on the training rows; None where it was not computed.
    """
    design = fitted.design
    return Facts(
        title=_title(fitted),
        formula=design.formula,
        response=design.response,
        table=fitted.table,
        columns=tuple(
            name for name in COLUMNS if name in fitted.table and _says_anything(fitted.table[name])
        ),
        left=_left(fitted),
        right=_right(fitted, training),
        notes=(*_explained(fitted), *design.notes, *fitted.notes, *part_shown(fitted.table)),
        smallest_p=smallest_p(fitted),
        noise=noise_of(fitted),
        constraints=constraints_of(fitted),
        before=fitted.before,
        settings=settings_of(fitted.options.as_dict()),
        compared=_compared(fitted, training),
        methods=linear_methods(fitted),
    )


def _title(fitted: Fitted) -> str:
    if not _has_bounds(fitted):
        return "Linear model"
    return "Relevance bounds" + (" under constraints" if fitted.wishes else "")


def _has_bounds(fitted: Fitted) -> bool:
    return bool(fitted.polytopes) or fitted.no_relation


def _says_anything(values: pd.Series) -> bool:
    """Say whether a column holds anything to read: classes without order have no signs, for one."""
    return bool((values.notna() & (values.astype(str) != "")).any())


def constraints_of(fitted: Fitted) -> dict[str, tuple[float, float]]:
    """Return the constraints of a what-if by the rows of its table."""
    titles = {row.key: row.title for row in fitted.asked}
    return {str(titles.get(key, key)): wish for key, wish in fitted.wishes.items()}


def smallest_p(fitted: Fitted) -> float:
    """Return the smallest p-value that the permutations behind a table can show."""
    noise = fitted.noise
    if noise.control == "published":
        counts = [len(one.upper) for one in noise.populations.values()]
    else:
        counts = [noise.permutations, noise.refits]
    return 1.0 / (1 + max(counts, default=0))


def noise_of(fitted: Fitted) -> dict[tuple[str, str | None], float]:
    """Return what noise reaches, by part and term."""
    return {(key.part, key.term): float(pair[1].upper) for key, pair in fitted.noise.intervals.items()}


def _left(fitted: Fitted) -> Pairs:
    design, kind = fitted.design, fitted.tuning.kind
    pairs = [("Response:", design.response), ("Family:", _family(fitted))]
    if family_of(design.family).thresholds and design.levels is not None and len(design.levels) > 2:
        # survival times have one order unless the user says otherwise: nothing is chosen
        chosen = " (chosen)" if fitted.options.order == "auto" and design.family != "survival" else ""
        pairs.append(("Order:", f"{kind.order}{chosen}"))
    if design.levels is not None:
        pairs.append(("Balance:", "yes" if kind.balance else "no"))
    else:
        pairs.append(("Epsilon:", f"{design.y_scale * kind.epsilon:.4g}"))
    if fitted.imputations:
        pairs.append(("Imputed data sets:", str(len(fitted.imputations))))
    pairs.append(("No. Observations:", str(len(design.y))))
    if design.times is not None:
        pairs.append(("Events:", str(int(design.times[1].sum()))))
    if design.cluster is not None:
        named = f" ({design.cluster_name})" if design.cluster_name else ""
        pairs.append(("Clusters:", f"{int(design.cluster.max()) + 1}{named}"))
    pairs += [
        ("Dropped (missing):", str(design.n_dropped)),
        ("Terms:", _terms(fitted)),
    ]
    if _has_bounds(fitted):
        pairs.append(("Strong/weak/irrelevant:", count_classes(fitted.table)))
    if fitted.privileged is not None:
        pairs += _privileged(fitted)
    return tuple(pairs)


def _family(fitted: Fitted) -> str:
    design = fitted.design
    if design.levels is None:
        return design.family
    what = "intervals" if design.family == "survival" else "levels"
    return f"{design.family}, {len(design.levels)} {what}"


def _terms(fitted: Fitted) -> str:
    """Return how many terms each part has."""
    count = {
        part: sum(term.part == part for term in fitted.design.design_terms) for part in ("regular", "adjust")
    }
    text = str(count["regular"])
    if count["adjust"]:
        text += f" + {count['adjust']} adjusting"
    privileged = sum(term.part == "privileged" for term in fitted.design.design_terms)
    return text + (f" + {privileged} privileged" if privileged else "")


def _privileged(fitted: Fitted) -> list[tuple[str, str]]:
    """Return how privileged features were used; a note has the scores of every way that was tried."""
    help, kind = fitted.privileged, fitted.tuning.kind
    assert help is not None
    chosen = " (chosen)" if fitted.options.privileged == "auto" else ""
    pairs = [("Privileged:", f"{help.way}{chosen}")]
    if kind.slack:
        pairs.append(("Gamma, residual price:", f"{kind.gamma:g}, {kind.residual:g}"))
    return pairs


def _right(fitted: Fitted, training: float | None) -> Pairs:
    tuning = fitted.tuning
    how = "fixed" if tuning.rule == "fixed" else f"{tuning.folds}-fold CV"
    scale = fitted.design.y_scale if fitted.design.levels is None else 1.0
    pairs = [
        ("C:", f"{tuning.C:.4g} ({how})"),
        ("Norm (mu):", f"{scale * fitted.norm:.4g}"),
        ("Loss (rho):", f"{scale * _loss(fitted):.4g}"),
        *_scores(fitted, training, ":"),
    ]
    if fitted.tolerance.rule != "none":
        pairs.append(("Delta:", _delta(fitted)))
    pairs += [*_control(fitted), ("Seed:", str(fitted.options.seed)), ("Certificate:", _certificate(fitted))]
    return tuple(pairs)


def _loss(fitted: Fitted) -> float:
    return float(fitted.spec.sample_losses(fitted.solution.v).sum())


def _scores(fitted: Fitted, training: float | None, colon: str = "") -> Pairs:
    """Return the scores of the model; a cross-validated score belongs to the fit without constraints."""
    name = fitted.tuning.metric
    pairs = [] if training is None else [(f"{name}, training{colon}", f"{training:.3f}")]
    if not fitted.wishes:
        score = fitted.tuning.score
        pairs.append((f"{name}, cross-validated{colon}", "-" if score is None else f"{score:.3f}"))
    return tuple(pairs)


def _delta(fitted: Fitted) -> str:
    """Return the tolerance and how it came about."""
    tolerance, shape = fitted.tolerance, fitted.options.tolerance
    refits = f" x {tolerance.refits}" if tolerance.refits else ""
    return f"{tolerance.delta:.3g} ({tolerance.rule}{refits}, {shape})"


def _control(fitted: Fitted) -> list[tuple[str, str]]:
    """Return what is promised of noise, and how many permutations that rests on."""
    noise, options = fitted.noise, fitted.options
    if noise.control == "none":
        return []
    if noise.control == "published":
        drawn = [
            f"{len(one.upper)} of {one.draws} drawn"
            for key, one in noise.populations.items()
            if key.term is None
        ]
        return [("Control:", f"published, level {options.level:g}"), ("Probes:", " + ".join(drawn) or "none")]
    return [
        ("Control:", f"{noise.control}, alpha {options.alpha:g}"),
        ("Permutations, refits:", f"{noise.permutations}, {noise.refits}"),
    ]


def _certificate(fitted: Fitted) -> str:
    gap = fitted.certificate
    return f"proved to {gap:.1e}" if gap <= PROVED else f"gap {gap:.1e}"


def _explained(fitted: Fitted) -> list[str]:
    table, family = fitted.table, fitted.design.family
    notes = [MEANING] if _has_bounds(fitted) else [WEIGHTS]
    if fitted.tuning.kind.balance:
        notes.append(BALANCED_CLASSES if family == "nominal" else BALANCED)
    if family in ABOUT:
        notes.append(ABOUT[family])
    if (table["row"] == "level").any():
        notes.append(LEVELS)
    if (table["row"] == "column").any():
        notes.append(COLUMN_ROWS)
    if fitted.imputations:
        notes.append(MOVES)
    if (table["part"] == "adjust").any():
        notes.append(ADJUSTED)
    if fitted.noise.control != "none":
        notes.append(_noise_note(fitted))
    if fitted.polytopes:
        notes.append(_proof_note(fitted))
    return notes


def _noise_note(fitted: Fitted) -> str:
    noise, options = fitted.noise, fitted.options
    reached = "; ".join(
        f"{value:.3f}" + (f" ({term or part})" if len(noise.intervals) > 1 else "")
        for (part, term), value in noise_of(fitted).items()
    )
    said = f"Noise reaches {reached} (upper end of its prediction interval). " if reached else ""
    if reached and noise.control == "fwer":
        terms = f"{len(noise.block)} terms" if len(noise.block) > 1 else "a term"
        said = (
            f"Noise ({terms} permuted together and fitted again, the largest counts) reaches {reached}, the upper end "
            "of its prediction interval; classes go by the tests, not by this line. "
        )
    promise = {
        "fwer": f"P adj. holds for all terms together: the chance of calling any noise term relevant is at most "
        f"{options.alpha:g}, and a term is relevant exactly where P adj. is at most {options.alpha:g}. "
        "Strong terms also have an effect beside all other terms, tested with the same chance of error.",
        "fdr": f"P adj. is Benjamini-Hochberg: among terms called relevant (P adj. at most {options.alpha:g}), the "
        "expected share of noise is at most that.",
        "published": f"A term is relevant where upper exceeds the prediction interval of permuted features at level "
        f"{options.level:g}; P adj. is Benjamini-Hochberg, and the class does not go by it.",
    }[noise.control]
    return (
        f"{said}P>noise is the chance that noise looks as relevant, never shown as smaller than the permutations can "
        f"tell. {promise}"
    )


def _proof_note(fitted: Fitted) -> str:
    solvers = ", ".join(dict.fromkeys(fitted.measured.solver))
    if fitted.certificate <= PROVED:
        return f"Solver: {solvers}; the best model and every bound are proved by duality to {fitted.certificate:.1e}."
    return f"Solver: {solvers}; not everything is proved: the largest gap is {fitted.certificate:.1e}."


def _compared(fitted: Fitted, training: float | None) -> Pairs:
    return (
        ("Observations", str(len(fitted.design.y))),
        ("C", f"{fitted.tuning.C:.3g}"),
        ("Norm", f"{fitted.norm:.3g}"),
        ("Loss", f"{_loss(fitted):.3g}"),
        ("Delta", f"{fitted.delta:.3g}"),
        *_scores(fitted, training),
        ("Strong/weak/irrelevant", count_classes(fitted.table)),
    )
