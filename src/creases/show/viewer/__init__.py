"""What the report and the studio share: the built viewer, and the bytes and JSON that it is given (web/PROTOCOL.md)."""
