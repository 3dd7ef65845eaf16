"""One file a figure; matplotlib and seaborn load when one is drawn.

Gets :class:`~relbounds.show.facts.Facts` or what a question found, and draws it into axes that are given or made. What
figures share (colours with one meaning, sizes, labels, legends) is in :mod:`~relbounds.show.figures.style`.
"""
