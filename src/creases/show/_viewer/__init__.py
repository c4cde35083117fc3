"""The built viewer of reports and studio, and its input as bytes and JSON (web/PROTOCOL.md)."""
