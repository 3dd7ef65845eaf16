"""Every tolerance of the solver, and what it is relative to.

Nothing here has a unit. Margins are measured against the largest margin asked for (`height`), variables against what
one of their columns needs to make up that margin, norms against the norm of the baseline, losses against the loss of a
model that misses every row by the whole margin. So a response, a column, a price or a norm in other units gives the
same numbers in these units.
"""

from __future__ import annotations

# --- what is promised -------------------------------------------------------------------------------------------

# Gap of a bound, relative to the norm of the baseline. Smaller: more runs are repeated for digits nobody sees.
# Larger: bounds of two engines differ visibly.
PROMISED = 1e-6
# Gap of a baseline, relative to its objective. A set that is delta wide feels a baseline that is worse than the best
# by this much as a change of delta by as much: larger would move bounds at delta = 0.001, smaller is not always
# reached before rounding ends an interior point.
OPTIMAL = 1e-7

# --- when an interior point stops -------------------------------------------------------------------------------

# Gap at which a push is finished, relative to the norm of the baseline: well below what is promised, since repairing
# multipliers costs some of it. Smaller costs iterations, larger costs repeated runs.
FINE = 1e-7
# Relative accuracy of the objective of a reported baseline before its support is made exact. Larger: rows at their
# kink are not told from others. Smaller: rounding ends the run first.
EXACT = 1e-9

# --- what has an interior, and what is empty --------------------------------------------------------------------

# A start is used as it is when every budget has this much room, relative to the budget, and every hard row, relative
# to the height. With less an interior point begins against the wall; a better point is sought first.
ROOMY = 1e-7
# A set whose best point has less relative room has no interior to speak of and is left to the simplex. Smaller: an
# interior point loses its digits there. Larger: the simplex gets work that others do faster.
THIN = 1e-9
# A set that lacks this much room is called empty at once; between this and no room the multipliers have to prove it.
EMPTY = 1e-7
# What a proof of emptiness must show beyond 0, relative to the budgets: less may be rounding.
PROOF = 1e-12
# A loss budget below this share of the loss of a model that misses every row leaves no room: every row is a hard one.
# Larger would take away room that moves bounds, smaller leaves a budget too thin to divide by. Certificates use the
# budget as it is in either case.
NO_LOSS = 1e-9

# --- what is zero -----------------------------------------------------------------------------------------------

# Rounding of norms, losses and rows, relative to the sum of the absolute values that are added up in them. Points that
# exceed a budget by no more keep it. Larger would be a relaxation, smaller would call rounding one.
ROUNDING = 4e-15
# A row left out of a program is on the wrong side of its kink only beyond this, relative to the height. Smaller: rows
# that only touch their kink are solved for again. Larger: slack is overlooked, and the certificate shows it.
TOUCHING = 1e-10
# Constraints within this of being met are taken to be met by a vertex, in core units; the first that gives a point of
# the set. It has to lie between the error of a simplex and the distance of the next vertex, which is known of neither.
AT_VERTEX = (1e-8, 1e-10, 1e-12)
# Feasibility of a simplex, in core units: the smallest that HiGHS takes.
SIMPLEX = 1e-10
# The price of a row that a problem leaves out, against the mean price of its rows. Much more would be seen in the
# objective, much less leaves nothing to divide by.
LEFT_OUT = 1e-9
# A column is left out as long as what it may add is below this share of the promised accuracy.
NEGLIGIBLE = 0.02
# A column that the rows pull at as hard as its penalty holds it, up to this share, belongs to the optimal face: copies
# of a column are pulled at alike. Larger takes more columns than needed, smaller takes rounding for a difference.
FACE = 1e-7
# The least that is added to the diagonal of a matrix scaled to have ones there: a few units of rounding. More slows
# the last iterations, less lets factorisations fail.
RIDGE = 1e-15
# The same in single precision.
RIDGE_SINGLE = 3e-7
# Free variables move the origin when that shrinks the largest margin at least by this factor: a response far from 0
# compared with its spread.
FAR_ORIGIN = 10.0
# What is charged for a free variable that nothing limits, in units of what one of its columns needs to make up the
# height: balancing leaves only rounding to be charged.
FAR = 1e3
# While gaps are more than this share of what norm and loss cost, Newton systems are formed and factored in single
# precision: points stay inside in double precision whatever the step. Smaller: steps that rounding spoils.
COARSE = 1e-2
# A gap of this share of what may be left open is closed, whatever residual goes with it: that is then rounding, which
# no further step takes away. Much more would stop steps that still remove it.
STALLED = 1e-3
