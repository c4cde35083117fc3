"""``python -m creases``, and the command ``creases``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback, also while its modules are imported."""
    try:
        from creases.cli import app

        app(prog_name="creases")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
