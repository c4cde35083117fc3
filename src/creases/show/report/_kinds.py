"""What a folder or file of results holds."""

from __future__ import annotations

from pathlib import Path

from creases.errors import InputError
from creases.tables import name_result

RUN = "run.json"
COMPARISON = "comparison.json"

#: Files of maps and of networks.
MAPS = (".npz", ".safetensors", ".onnx")


def kind_of_result(result: Path) -> str:
    """Return what a folder or file holds, judging by its files."""
    kinds = {RUN: "growth run", COMPARISON: "comparison"}
    if result.is_dir():
        kind = next((kind for name, kind in kinds.items() if (result / name).exists()), None)
        if kind is None:
            raise InputError(
                "result",
                f"hold a growth run ({RUN}) or a comparison ({COMPARISON})",
                str(result),
                "pass a folder written by creases fit, grow or compare",
            )
        return name_result(result) if kind == "growth run" else kind
    if not result.exists():
        raise InputError("result", "be an existing file or folder", str(result))
    if result.suffix in MAPS:
        return "map"
    raise InputError("result", f"be a folder, or a map or network ({', '.join(MAPS)})", repr(result.name))
