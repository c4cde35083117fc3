"""The studio: growth runs to watch and to steer in a browser, served on this machine only (web/PROTOCOL.md)."""
