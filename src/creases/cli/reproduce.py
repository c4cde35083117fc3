"""``creases reproduce``: what the sources claim, run through the library and set beside what they print."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.markup import escape
from rich.padding import Padding

from creases.cli.console import err, note, out, print_json, print_table, progress
from creases.errors import FileError, InputError

if TYPE_CHECKING:
    from creases.reproduce.claim import Claim, Row
    from creases.reproduce.measured import Scale
    from creases.reproduce.running import Failure, Result

INTERRUPTED = 130

#: How a verdict is printed.
_COLORS = {"agrees": "green", "agrees in kind": "yellow", "disagrees": "red"}


class ScaleName(StrEnum):
    """How much is computed."""

    quick = "quick"
    full = "full"


def reproduce_claims(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="The claims to run.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List every claim and how it fared at full scale.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Run every claim.")] = False,
    source: Annotated[str | None, typer.Option(help="Only claims of this source: 000, 001, 002 or 003.")] = None,
    scale: Annotated[
        ScaleName, typer.Option(help="In seconds, or as in the source (minutes to hours).")
    ] = ScaleName.quick,
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for the results: ID.json, and ID.png with a figure.")
    ] = Path("out/reproduce"),
    processes: Annotated[int, typer.Option(help="How many claims are run at a time.")] = 1,
    again: Annotated[bool, typer.Option("--again", help="Also run what has a result in the folder.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the list, or the results, as JSON.")] = False,
) -> None:
    """Reproduce the sources: every table, figure, theorem and number that can be computed.

    To see what there is, to run one claim, and to run them all:

      creases reproduce --list

      creases reproduce 003-table-1

      creases reproduce --all --scale quick --processes 2

    The printed numbers are set beside ours, with a verdict: agrees, agrees in kind (what is said of the numbers holds,
    they differ), disagrees, or not computable here. A verdict is a result: only claims that could not be run to their
    end make the exit code 1. Results that lie in the folder are not computed again.
    """
    chosen = _chosen(ids or [], everything or listed, source)
    if listed:
        _list(chosen, as_json)
        return
    results = _run(chosen, scale.value, folder, processes, again)
    if as_json:
        _print_json(results)
    else:
        for claim, result in results:
            _print_result(claim, result)
        _print_counts(results)
    if any(_failed(result) for _, result in results):
        raise typer.Exit(1)


def _chosen(ids: list[str], everything: bool, source: str | None) -> list[Claim]:
    from creases.reproduce.catalogue import claims, find

    if ids and (everything or source):
        raise InputError("ID: give ids, or --all, --list or --source, not both")
    if not (ids or everything or source):
        raise InputError("ID: expected ids of claims, --all or --list; creases reproduce --list shows the ids")
    return [find(id) for id in dict.fromkeys(ids)] if ids else claims(source)


def _run(
    chosen: list[Claim], scale: Scale, folder: Path, processes: int, again: bool
) -> list[tuple[Claim, Result | Failure]]:
    """Run claims, write their results and figures; in the order of the catalogue."""
    from creases.reproduce.running import run_all

    if processes < 1:
        raise InputError(f"--processes: expected at least 1, got {processes}")
    if folder.exists() and not folder.is_dir():
        raise FileError(f"--out: {folder} is a file; give the name of a folder")
    by_id = {claim.id: claim for claim in chosen}
    found: dict[str, Result | Failure] = {}
    try:
        with progress(len(chosen)) as begin:
            begin(chosen[0].id if processes == 1 else f"{len(chosen)} claims")
            for done, result in enumerate(run_all(chosen, scale, folder=folder, processes=processes, again=again), 1):
                found[result.id] = result
                _draw(by_id[result.id], result, folder)
                begin(chosen[done].id if processes == 1 and done < len(chosen) else f"{done} of {len(chosen)} done")
    except KeyboardInterrupt:
        note(f"stopped after {len(found)} of {len(chosen)}; what was done is kept in {folder}: give the command again")
        raise typer.Exit(INTERRUPTED) from None
    return [(claim, found[claim.id]) for claim in chosen]


def _draw(claim: Claim, result: Result | Failure, folder: Path) -> None:
    if _failed(result) or claim.picture is None or claim.measure is None:
        return
    from creases.show import claim_figure, save_figure

    figure = claim_figure(claim.picture(cast("Result", result).numbers), f"{claim.id}: {claim.place}")
    save_figure(figure, folder / f"{claim.id}.png", dpi=110)


def _list(chosen: list[Claim], as_json: bool) -> None:
    from creases.reproduce.claim import SOURCES
    from creases.reproduce.running import status

    if as_json:
        rows = [
            {
                "id": claim.id,
                "source": SOURCES[claim.source],
                "place": claim.place,
                "says": claim.says,
                "printed": claim.printed,
                "status": status(claim),
                "cannot": claim.cannot,
            }
            for claim in chosen
        ]
        print_json({"claims": rows})
        return
    for number, name in SOURCES.items():
        own = [claim for claim in chosen if claim.source == number]
        if own:
            _print_list(f"{number}: {name}", own)
    _print_number({name: [status(claim) for claim in chosen].count(name) for name in map(status, chosen)})


def _print_list(title: str, own: list[Claim]) -> None:
    """Claims of one source, each with its status, what it says and what is printed."""
    from creases.reproduce.running import status

    out.print(escape(title), style="bold", soft_wrap=True)
    for claim in own:
        out.print(f"[bold]{claim.id}[/]  {_colored(status(claim))}", soft_wrap=True)
        printed = f" [dim]Printed: {escape(claim.printed)}[/]" if claim.printed else ""
        out.print(Padding(f"{escape(claim.place)}: {escape(claim.says)}{printed}", (0, 0, 0, 2)))
    out.print()


def _print_result(claim: Claim, result: Result | Failure) -> None:
    """A claim, what was printed, what was measured, the verdict."""
    out.print(f"[bold]{claim.id}[/]  {escape(claim.place)}", soft_wrap=True)
    out.print(escape(claim.says), soft_wrap=True)
    if _failed(result):
        err.print(escape(cast("Failure", result).error), style="dim", soft_wrap=True)
        out.print("[bold red]failed[/]\n")
        return
    done = cast("Result", result)
    rows = claim.picture(done.numbers).rows if claim.picture and claim.measure else ()
    if rows:
        print_table("", [_words(row) for row in rows], ("", "printed", "measured", "95 % interval"))
    elif claim.printed:
        out.print(f"printed: {escape(claim.printed)}", soft_wrap=True)
    seconds = f" ({done.scale}, {done.seconds:.1f} s)" if claim.measure else ""
    out.print(f"{_colored(done.verdict)}: {escape(done.why)}{seconds}\n", soft_wrap=True)


def _words(row: Row) -> tuple[str, str, str, str]:
    def word(number: float | None) -> str:
        return "" if number is None else f"{number:.4g}"

    interval = "" if row.low is None or row.high is None else f"{word(row.low)} to {word(row.high)}"
    return row.what, word(row.printed), word(row.measured), interval


def _print_counts(results: list[tuple[Claim, Result | Failure]]) -> None:
    from creases.reproduce.running import NOT_HERE, counts

    if len(results) > 1:
        absent = [claim for claim, _ in results if claim.measure is None]
        if absent:
            print_table(NOT_HERE, [(claim.id, claim.cannot) for claim in absent])
        _print_number(counts(result for _, result in results))


def _print_number(found: dict[str, int]) -> None:
    told = ", ".join(f"{number} {_colored(name)}" for name, number in found.items())
    out.print(f"{sum(found.values())} claims: {told}", soft_wrap=True)


def _print_json(results: list[tuple[Claim, Result | Failure]]) -> None:
    from dataclasses import asdict

    from creases.reproduce.running import counts

    found: dict[str, Any] = {"results": [asdict(result) for _, result in results]}
    print_json({**found, "counts": counts(result for _, result in results)})


def _failed(result: Result | Failure) -> bool:
    from creases.reproduce.running import Failure

    return isinstance(result, Failure)


def _colored(verdict: str) -> str:
    color = _COLORS.get(verdict)
    return f"[{color}]{verdict}[/]" if color else verdict
