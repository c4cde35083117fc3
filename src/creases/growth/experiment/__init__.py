"""Growth runs: their settings, their data divided, what is written down on the way, the folder they are kept in."""
