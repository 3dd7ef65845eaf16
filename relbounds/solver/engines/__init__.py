"""The engines that push along directions, one file each, and the choice among them.

Gets a polytope and directions. Gives points and multipliers; what they prove is worked out in
:mod:`relbounds.solver.certificates`.
"""
