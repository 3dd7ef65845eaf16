"""Questions to a fit, one file each: what if, who stands in, which levels differ, what is used jointly or cheapest.

Gets a `Fitted`. Gives facts: tables, small frozen records, or another `Fitted` (a what-if). `naming` turns what a user
writes into rows of the table, `cutting` turns wishes into sets, `holding` holds one row, `frontier` traces the rim of a
set along two rows, `what_if_noise` judges rows in a constrained set.
"""
