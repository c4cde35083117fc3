"""Training and growth as GIF and MP4."""
