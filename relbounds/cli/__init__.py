"""The command line: ``relbounds fit``, ``relbounds explore``, ``relbounds demo``.

Gets arguments, gives a table on the standard output, files where they were asked for, and an exit status: 0 when all
went well, 2 with one clear line when not, 130 after an interrupt. ``parser`` knows the flags, ``words`` turns errors
into their language, ``data`` reads tables, ``outputs`` writes files, ``commands`` does the work.
"""

from relbounds.cli.entry import main

__all__ = ["main"]
