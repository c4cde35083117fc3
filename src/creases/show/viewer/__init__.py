"""What the report and the studio share: the built viewer, and the bytes and JSON that it is given (web/PROTOCOL.md)."""

from creases.show.viewer._frames import decode, encode, line_frame, on_slice, plane_frame, report, report_html
from creases.show.viewer._run import epochs_json, moment_json, plain, problem_json, record_json, run_json

__all__ = [
    "decode",
    "encode",
    "epochs_json",
    "line_frame",
    "moment_json",
    "on_slice",
    "plain",
    "plane_frame",
    "problem_json",
    "record_json",
    "report",
    "report_html",
    "run_json",
]
