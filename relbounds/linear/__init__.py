"""The statistics of the linear models: loss rows, best model, equivalent models, ranges, noise, table.

Gets a design and options. Gives a :class:`relbounds.linear.fit.Fitted`.
"""
