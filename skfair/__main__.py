"""``python -m skfair report FILE ...``: audit predictions of any tool."""

import sys

from skfair.audit import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
