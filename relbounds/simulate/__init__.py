"""Data whose truth is known: which features every good model needs, which have stand-ins, which are noise.

The recipe (n rows; s strong, m weak, r irrelevant features; all draws Gaussian):

1. Informative features u_1..u_q, q = s + the number of weak groups, with mean 0, variance 1 and
   ``correlation`` between any two of them.
2. A score ``w . u`` with every w_k > 0; levels by quantiles of the score, classes by its sign, or the score
   itself. The response comes from these clean values.
3. Strong features are u_1..u_s as they are. Each further u is replaced by several copies of itself: the
   original is gone, any copy stands in for the others, so each is weakly relevant. Irrelevant features are
   drawn apart from everything else (with ``correlation`` among themselves).
4. Noise of standard deviation ``noise`` is added to every feature independently; then each is standardised.

Why the truth is the truth: without noise the score is a function of the strong features and one copy of each
group, and no strong feature can be left out. With noise each copy is a separate reading of one quantity:
averaging several is a little better than taking one, yet any of them can be dropped at small cost. Irrelevant
features are independent of response and relevant features, noise or not; that is why ``correlation`` never
crosses from one block to the other: with noisy predictors a correlated bystander would truly help.

Columns come in the order strong, weak, irrelevant, named x1, x2, ... (privileged: z1, z2, ...; response: y).
"""

from __future__ import annotations

from relbounds.simulate.hidden import noise_per_group, privileged
from relbounds.simulate.papers import paper_binary_set, paper_group_set, paper_privileged_set, paper_set
from relbounds.simulate.recipe import Simulated, binary, draw, ordinal, regression

__all__ = [
    "Simulated",
    "binary",
    "draw",
    "noise_per_group",
    "ordinal",
    "paper_binary_set",
    "paper_group_set",
    "paper_privileged_set",
    "paper_set",
    "privileged",
    "regression",
]
