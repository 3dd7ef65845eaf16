"""Linear programs: the optimum of an L1 model, and how far its near-optimal points reach.

Gets arrays. Gives points, bounds and multipliers that prove them. Knows nothing of features, formulas or families.
"""
