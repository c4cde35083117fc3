"""The built viewer of reports and studio, and its input as bytes and JSON (web/PROTOCOL.md)."""

from creases.show._viewer._frames import (
    encode_frame,
    line_frame,
    plane_frame,
    project_on_slice,
    render_report,
    report_frame,
)
from creases.show._viewer._run import (
    epochs_json,
    final_epoch,
    moment_json,
    problem_json,
    record_json,
    run_json,
    score_name,
    to_json,
)

__all__ = [
    "encode_frame",
    "epochs_json",
    "final_epoch",
    "line_frame",
    "moment_json",
    "plane_frame",
    "problem_json",
    "project_on_slice",
    "record_json",
    "render_report",
    "report_frame",
    "run_json",
    "score_name",
    "to_json",
]
