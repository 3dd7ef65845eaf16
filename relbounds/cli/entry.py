"""From arguments to an exit status."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from relbounds.cli.parser import make_parser
from relbounds.cli.words import flag, in_flags
from relbounds.errors import RelboundsError, RelboundsWarning


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    Examples
    --------
    >>> main(["fit", "missing.csv", "y ~ ."])
    2
    """
    parser = make_parser()
    given = parser.parse_args(arguments)
    for name, value in vars(given).items():
        if value == []:  # what argparse makes of --name=--
            parser.error(f"argument {flag(name)}: expected one argument")
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        try:
            # the libraries are slow to load, and --help needs none
            from relbounds.cli import commands

            return commands.COMMANDS[given.command](given)
        except RelboundsError as error:
            print(f"relbounds: {in_flags(error)}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print("relbounds: interrupted", file=sys.stderr)
            return 130
        except BrokenPipeError:
            # whoever read our output went away; nothing more can be said to them
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 141
        except MemoryError:
            print(
                "relbounds: there is not enough memory for this; use fewer rows or --jobs 1", file=sys.stderr
            )
            return 2


def _warn(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, RelboundsWarning):
        print(f"relbounds: warning: {message}", file=sys.stderr)
