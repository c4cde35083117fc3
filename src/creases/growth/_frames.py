"""Histories as tables of pandas: a row for each epoch, or for each growth step."""

from __future__ import annotations

from typing import Any

_STEP_COLUMNS = (
    *("epoch", "steps", "action", "place", "method", "added", "removed", "width_before", "width_after"),
    *("parameters_before", "parameters_after", "predicted_gain", "loss_before", "loss_after", "changed"),
    *("undone", "kept", "why"),
)


def epochs_frame(history: Any) -> Any:
    """Return a DataFrame with a row for each epoch; what was not measured is NaN."""
    import pandas as pd

    names = list(dict.fromkeys(name for epoch in history.epochs for name in epoch["widths"]))
    rows = []
    for epoch in history.epochs:
        row = {key: value for key, value in epoch.items() if key not in ("epoch", "widths")}
        row |= {f"width {name}": epoch["widths"].get(name, 0) for name in names}
        grown = [record for record in history.records if record.epoch == epoch["epoch"]]
        row |= {"growth_steps": len(grown), "kept": epoch["epoch"] == history.kept}
        rows.append(row)
    frame = pd.DataFrame(rows, index=pd.Index([epoch["epoch"] for epoch in history.epochs], name="epoch"))
    missing = [key for key in frame if frame[key].isna().all()]
    return frame.astype(dict.fromkeys(missing, float)) if len(frame) else frame


def steps_frame(history: Any) -> Any:
    """Return a DataFrame with a row for each growth step."""
    import pandas as pd

    rows = [_step_row(record, history) for record in history.records]
    index = pd.Index([record.number for record in history.records], name="step")
    return pd.DataFrame(rows, index) if rows else pd.DataFrame(index=index, columns=_STEP_COLUMNS)


def _step_row(record: Any, history: Any) -> dict[str, Any]:
    later = {f"later_{key}": value for key, value in record.later.items()}
    return {
        "epoch": record.epoch,
        "steps": record.steps,
        "action": record.action,
        "place": record.place,
        "method": record.method,
        "added": len(record.units),
        "removed": len(record.removed),
        "width_before": record.width[0],
        "width_after": record.width[1],
        "parameters_before": record.parameters[0],
        "parameters_after": record.parameters[1],
        "predicted_gain": record.predicted,
        "loss_before": record.before["loss"],
        "loss_after": record.after["loss"],
        "changed": record.changed,
        **later,
        "undone": record.undone,
        "kept": history.keeps(record),
        "why": record.why(),
    }
