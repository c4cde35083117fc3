"""Claims: tiny."""
