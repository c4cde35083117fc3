"""``python -m creases.cli``."""

from creases.cli import app

app(prog_name="creases")
