"""``creases reproduce``: what the sources claim, run through the library and set beside what they print."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.markup import escape

from creases.cli._console import err, note, out, print_json, print_table, show_progress
from creases.errors import FileError, InputError

if TYPE_CHECKING:
    from creases_reproduction.claim import Claim, Row
    from creases_reproduction.measured import Scale
    from creases_reproduction.running import Failure, Result

INTERRUPTED = 130

#: How a verdict is printed.
_COLORS = {"agrees": "green", "agrees in kind": "yellow", "disagrees": "red", "failed": "bold red"}

#: Verdicts in a list of one line for each claim; a name that is not here is short enough.
_SHORT = {"agrees in kind": "in kind", "not computable here": "not here"}

#: Columns for an id in such a list; longer ones push the rest of their line to the right.
_ID_WIDTH = 28


class ScaleName(StrEnum):
    """How much is computed."""

    quick = "quick"
    full = "full"


def reproduce_claims(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="The claims to run, or to list in full.")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List every claim and how it fared at full scale; with ids, all about these.")
    ] = False,
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

    To see what there is, all about one claim, to run it, and to run them all:

      creases reproduce --list

      creases reproduce --list 003-table-1

      creases reproduce 003-table-1

      creases reproduce --all --scale quick --processes 2

    The printed numbers are set beside ours, with a verdict: agrees, agrees in kind (what is said of the numbers holds,
    they differ), disagrees, or not computable here. A quick run has few seeds, and small stand-ins for image data: the
    verdict of the stored full run, which counts, is told beside its own. A verdict is a result: only claims that could
    not be run to their end make the exit code 1. Results that lie in the folder are not computed again.
    """
    chosen = _chosen(ids or [], everything, listed, source)
    if listed:
        _list(chosen, as_json, in_full=bool(ids))
        return
    briefly = not (ids or as_json)
    results = _run(chosen, scale.value, folder, processes, again, briefly)
    if as_json:
        _print_json(results)
    else:
        for claim, result in results if ids else ():
            _print_result(claim, result)
        _print_counts(results, scale.value)
    if any(_failed(result) for _, result in results):
        raise typer.Exit(1)


def _chosen(ids: list[str], everything: bool, listed: bool, source: str | None) -> list[Claim]:
    from creases_reproduction.catalogue import claims, find

    if ids and (everything or source):
        raise InputError("ID: give ids, or --all or --source, not both")
    if not (ids or everything or listed or source):
        raise InputError("ID: expected ids of claims, --all or --list; creases reproduce --list shows the ids")
    return [find(id) for id in dict.fromkeys(ids)] if ids else claims(source)


def _run(
    chosen: list[Claim], scale: Scale, folder: Path, processes: int, again: bool, briefly: bool
) -> list[tuple[Claim, Result | Failure]]:
    """Run claims, write their results and figures; in the order of the catalogue.

    ``briefly``: a line is printed for each as it is done.
    """
    from creases_reproduction.running import run_all

    if processes < 1:
        raise InputError(f"--processes: expected at least 1, got {processes}")
    if folder.exists() and not folder.is_dir():
        raise FileError(f"--out: {folder} is a file; give the name of a folder")
    by_id = {claim.id: claim for claim in chosen}
    found: dict[str, Result | Failure] = {}
    try:
        with show_progress(len(chosen)) as begin:
            begin(chosen[0].id if processes == 1 else f"{len(chosen)} claims")
            for done, result in enumerate(run_all(chosen, scale, folder=folder, processes=processes, again=again), 1):
                found[result.id] = result
                _draw(by_id[result.id], result, folder)
                if briefly:
                    _print_line(by_id[result.id], result)
                begin(chosen[done].id if processes == 1 and done < len(chosen) else f"{done} of {len(chosen)} done")
    except KeyboardInterrupt:
        note(f"stopped after {len(found)} of {len(chosen)}; what was done is kept in {folder}: give the command again")
        raise typer.Exit(INTERRUPTED) from None
    return [(claim, found[claim.id]) for claim in chosen]


def _draw(claim: Claim, result: Result | Failure, folder: Path) -> None:
    if _failed(result) or claim.picture is None or claim.measure is None:
        return
    path, numbers = (folder / f"{claim.id}.{kind}" for kind in ("png", "json"))
    if path.exists() and path.stat().st_mtime >= numbers.stat().st_mtime:  # of a result that was kept
        return
    from creases.show import save_figure
    from creases_reproduction.figures.claims import claim_figure

    figure = claim_figure(claim.picture(cast("Result", result).numbers), f"{claim.id}: {claim.place}")
    save_figure(figure, path, dpi=110)


def _list(chosen: list[Claim], as_json: bool, in_full: bool) -> None:
    from creases_reproduction.claim import SOURCES
    from creases_reproduction.running import status

    if as_json:
        print_json({"claims": [_about(claim) for claim in chosen]})
        return
    if in_full:
        for claim in chosen:
            _print_about(claim)
        return
    for number, name in SOURCES.items():
        own = [claim for claim in chosen if claim.source == number]
        if own:
            out.print(f"{number}: {escape(name)}", style="bold", soft_wrap=True)
            for claim in own:
                _print_cut(claim.id, status(claim), claim.says)
            out.print()
    _print_number({name: [status(claim) for claim in chosen].count(name) for name in map(status, chosen)})
    note("all about a claim: creases reproduce --list ID; to run it: creases reproduce ID")


def _about(claim: Claim) -> dict[str, Any]:
    """All that is known of a claim, its stored result included, but for the result's numbers."""
    from creases_reproduction.claim import SOURCES
    from creases_reproduction.running import status, stored

    found = stored(claim.id)
    told = ("why", "command", "seconds", "machine", "versions")
    return {
        "id": claim.id,
        "source": SOURCES[claim.source],
        "place": claim.place,
        "says": claim.says,
        "printed": claim.printed,
        "status": status(claim),
        "cannot": claim.cannot,
        "takes": claim.full,
        "misprints": list(claim.misprints),
        "full": None if found is None else {name: getattr(found, name) for name in told},
    }


def _print_about(claim: Claim) -> None:
    """A claim with its stored result, as words."""
    about = _about(claim)
    found = about["full"]
    out.print(f"[bold]{claim.id}[/]  {escape(claim.place)} of {escape(about['source'])}", soft_wrap=True)
    out.print(escape(claim.says), soft_wrap=True)
    if claim.printed:
        out.print(f"printed: {escape(claim.printed)}", soft_wrap=True)
    why = found["why"] if found else claim.cannot
    out.print(f"{_colored(about['status'])}: {escape(why)}" if why else _colored(about["status"]), soft_wrap=True)
    if found:
        versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items()) or "versions not kept"
        if not found["command"].startswith("creases "):
            out.print(f"[dim]found by: {escape(found['command'])}[/]", soft_wrap=True)
        out.print(f"[dim]found on {escape(found['machine'])}; {versions}[/]", soft_wrap=True)
    if claim.misprints:
        out.print(f"[dim]misprints: {', '.join(claim.misprints)}[/]", soft_wrap=True)
    if claim.measure:
        takes = f" (takes {escape(claim.full)})" if claim.full else ""
        out.print(f"[dim]run: creases reproduce {claim.id} --scale full{takes}[/]", soft_wrap=True)
    out.print()


def _print_cut(id: str, verdict: str, text: str) -> None:
    """A line for a claim, cut to the terminal's width; in full where it goes to a file or another program."""
    line = f"{id:{_ID_WIDTH}} {_colored(verdict, 9)} {escape(text)}"
    if out.is_terminal:
        out.print(line, no_wrap=True, overflow="ellipsis", crop=True)
    else:
        out.print(line, soft_wrap=True)


def _print_line(claim: Claim, result: Result | Failure) -> None:
    """A line for a claim that was run."""
    from creases_reproduction.running import status

    if _failed(result):
        _print_cut(claim.id, "failed", cast("Failure", result).error.strip().splitlines()[-1])
        return
    done = cast("Result", result)
    full = status(claim)
    other = f"(full: {full}) " if done.scale == "quick" and full != done.verdict else ""
    _print_cut(claim.id, done.verdict, other + done.why)


def _print_result(claim: Claim, result: Result | Failure) -> None:
    """A claim, what was printed, what was measured, the verdict; after a quick run, that of the stored full one."""
    from creases_reproduction.running import stored

    out.print(f"[bold]{claim.id}[/]  {escape(claim.place)}", soft_wrap=True)
    out.print(escape(claim.says), soft_wrap=True)
    if _failed(result):
        err.print(escape(cast("Failure", result).error), style="dim", soft_wrap=True)
        out.print("[bold red]failed[/]\n")
        return
    done = cast("Result", result)
    rows = claim.picture(done.numbers).rows if claim.picture and claim.measure else ()
    if claim.printed and not any(row.printed is not None for row in rows):
        out.print(f"printed: {escape(claim.printed)}", soft_wrap=True)
    if rows:
        print_table("", [_words(row) for row in rows], ("", "printed", "measured", "95 % interval"))
    seconds = f" ({done.scale}, {done.seconds:.1f} s)" if claim.measure else ""
    out.print(f"{_colored(done.verdict)}: {escape(done.why)}{seconds}", soft_wrap=True)
    full = stored(claim.id)
    if done.scale == "quick" and full is not None:
        out.print(f"at full scale {_colored(full.verdict)}: {escape(full.why)} (stored)", soft_wrap=True)
    out.print()


def _words(row: Row) -> tuple[str, str, str, str]:
    def word(number: float | None) -> str:
        return "" if number is None else f"{number:.4g}"

    interval = "" if row.low is None or row.high is None else f"{word(row.low)} to {word(row.high)}"
    return row.what, word(row.printed), word(row.measured), interval


def _print_counts(results: list[tuple[Claim, Result | Failure]], scale: Scale) -> None:
    """How many claims have each verdict; after a quick run, also by the stored full ones."""
    from collections import Counter

    from creases_reproduction.running import VERDICTS, counts, status

    if len(results) < 2:
        return
    _print_number(counts(result for _, result in results), f" at {scale} scale")
    if scale == "quick":
        full = Counter(status(claim) for claim, _ in results)
        _print_number({name: full[name] for name in (*VERDICTS, "not run") if name in VERDICTS or full[name]},
                      " at full scale (stored)")  # fmt: skip


def _print_number(found: dict[str, int], where: str = "") -> None:
    told = ", ".join(f"{number} {_colored(name)}" for name, number in found.items())
    out.print(f"{sum(found.values())} claims{where}: {told}", soft_wrap=True)


def _print_json(results: list[tuple[Claim, Result | Failure]]) -> None:
    from dataclasses import asdict

    from creases_reproduction.running import counts, status

    found: dict[str, Any] = {"results": [{**asdict(result), "full": status(claim)} for claim, result in results]}
    print_json({**found, "counts": counts(result for _, result in results)})


def _failed(result: Result | Failure) -> bool:
    from creases_reproduction.running import Failure

    return isinstance(result, Failure)


def _colored(verdict: str, width: int = 0) -> str:
    """A verdict in its colour; with a width its short name, filled up to it."""
    color = _COLORS.get(verdict)
    word = f"{_SHORT.get(verdict, verdict):{width}}" if width else verdict
    return f"[{color}]{word}[/]" if color else word
