"""``python -m relbounds`` is the command line."""

import sys

from relbounds.cli import main

if __name__ == "__main__":
    sys.exit(main())
