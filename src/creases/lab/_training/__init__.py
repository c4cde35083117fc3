"""Training many networks of one shape as one program."""
