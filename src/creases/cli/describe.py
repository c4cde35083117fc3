"""``creases describe``: what there is to say of a model or a network, in the terminal or as JSON."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from rich.markup import escape

from creases.cli._model import load_model
from creases.cli._options import AsJson, Model
from creases.cli._sections import print_document
from creases.cli.console import option, out, print_json


def describe_model(
    model_: Model,
    full: Annotated[bool, option("", "Say all that a report says in words and numbers.", "--full")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what a network or the model of a table is.

    For the folder of a model: its scores beside others and the model in words; for a network its shapes and bends.

    For example:
      creases describe out/homes
      creases describe net.onnx
    """
    from creases.tables import load

    result: Any = load(model_) if Path(model_).is_dir() else load_model(model_)
    document = result.describe()
    if as_json:
        print_json(asdict(document))
        return
    out.print(escape(document.title), style="bold")
    print_document(document, full=full)
