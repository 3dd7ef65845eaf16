"""What readers see: summary, tables for papers, comparisons, figures, report, methods paragraph.

Gets tables and facts: DataFrames and small frozen records, above all :class:`~relbounds.show.facts.Facts`, which holds
everything that is said of a fit, whatever kind it is. Never gets a result object. Gives text, figures and files.

A table is walked in one place (:mod:`~relbounds.show.walk`), a value is written in one place
(:mod:`~relbounds.show.columns`), and text from data is made safe for a format in one place
(:mod:`~relbounds.show.escaping`).
"""
