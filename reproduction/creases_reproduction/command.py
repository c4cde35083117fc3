"""``creases reproduce``: run the claims of the sources and compare the results with what they print."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.markup import escape

from creases._text import plural
from creases.cli.console import err, note, out, print_json, print_table, show_progress
from creases.errors import FileError, InputError

if TYPE_CHECKING:
    from creases_reproduction.claim import Claim, Row
    from creases_reproduction.experiment import Scale
    from creases_reproduction.results import Failure, Result

INTERRUPTED = 130

#: How a verdict is printed.
_COLORS = {
    "agrees": "green",
    "agrees in kind": "yellow",
    "disagrees": "red",
    "not comparable": "blue",
    "failed": "bold red",
}

#: Verdicts in a list of one line for each claim; the others are short enough.
_SHORT_VERDICTS = {"agrees in kind": "in kind", "not comparable": "not comp.", "not computable here": "not here"}

#: Columns for an id in such a list; longer ones push the rest of their line to the right.
_ID_WIDTH = 36

_LIST_HINT = "creases reproduce --list shows the ids"


class ScaleName(StrEnum):
    """How much is computed."""

    quick = "quick"
    full = "full"


def reproduce_claims(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Claims to run, or to describe with --list.")
    ] = None,
    list_only: Annotated[
        bool, typer.Option("--list", help="List the claims and their verdicts at full scale; with ids, describe these.")
    ] = False,
    run_all: Annotated[bool, typer.Option("--all", help="Run every claim.")] = False,
    family: Annotated[
        str | None, typer.Option(help="Only the claims of one source: xng, tiny, linearity or splines.")
    ] = None,
    scale: Annotated[
        ScaleName, typer.Option(help="quick takes seconds for each claim; full is as in the source (minutes to hours).")
    ] = ScaleName.quick,
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for the results: ID.json, and ID.png with a figure.")
    ] = Path("out/reproduce"),
    n_jobs: Annotated[int, typer.Option("--jobs", help="Number of claims to run in parallel.")] = 1,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Run again the claims whose results are in the folder.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the list, or the results, as JSON.")] = False,
) -> None:
    """Reproduce the sources: every table, figure, theorem and number that can be computed.

    List the claims, describe one, run it, or run them all:

      creases reproduce --list

      creases reproduce --list splines/table-1

      creases reproduce splines/table-1

      creases reproduce --all --scale quick --jobs 2

    The printed numbers are shown beside the measured ones, with a verdict: agrees, agrees in kind (the statement holds
    but the numbers differ), disagrees, not comparable (the set-up is another one than the source's), or not computable
    here. A quick run has few seeds, and small stand-ins for image data, so the stored full-scale verdict is shown
    alongside. A verdict is a result: only claims that end with an error make the exit code 1. Results that are already
    in the folder are not computed again, unless the code has changed.
    """
    claims = _select_claims(ids or [], run_all, list_only, family)
    if list_only:
        _print_list(claims, as_json, in_full=bool(ids))
        return
    one_line_each = not (ids or as_json)
    results = _run_claims(claims, scale.value, folder, n_jobs, overwrite, one_line_each)
    if as_json:
        _print_json(results)
    else:
        for claim, result in results if ids else ():
            _print_result(claim, result)
        _print_counts(results, scale.value)
    if any(_is_failure(result) for _, result in results):
        raise typer.Exit(1)


def _select_claims(ids: list[str], run_all: bool, list_only: bool, family: str | None) -> list[Claim]:
    from creases_reproduction.catalogue import find_claim, list_claims

    if ids and (run_all or family):
        raise InputError("ids", "not be combined with --all or --family", " ".join(ids))
    if not (ids or run_all or list_only or family):
        raise InputError("ids", "name claims, unless --all, --family or --list is given", "none", _LIST_HINT)
    return [find_claim(id) for id in dict.fromkeys(ids)] if ids else list_claims(family)


def _run_claims(
    claims: list[Claim], scale: Scale, folder: Path, n_jobs: int, overwrite: bool, one_line_each: bool
) -> list[tuple[Claim, Result | Failure]]:
    """Run claims and write their results and figures; return them in the order of the catalogue."""
    from creases_reproduction.runner import run_claims

    if folder.exists() and not folder.is_dir():
        raise FileError(f"--out: {folder} is a file; pass a folder")
    by_id = {claim.id: claim for claim in claims}
    results: dict[str, Result | Failure] = {}
    try:
        with show_progress(len(claims)) as begin:
            begin(claims[0].id if n_jobs == 1 else plural(len(claims), "claim"))
            running = run_claims(claims, scale, folder=folder, n_jobs=n_jobs, overwrite=overwrite)
            for done, result in enumerate(running, 1):
                results[result.id] = result
                _draw_figure(by_id[result.id], result, folder)
                if one_line_each:
                    _print_result_line(by_id[result.id], result)
                begin(claims[done].id if n_jobs == 1 and done < len(claims) else f"{done} of {len(claims)} done")
    except KeyboardInterrupt:
        note(
            f"stopped after {len(results)} of {len(claims)}; the results are in {folder}: repeat the command to resume"
        )
        raise typer.Exit(INTERRUPTED) from None
    return [(claim, results[claim.id]) for claim in claims]


def _draw_figure(claim: Claim, result: Result | Failure, folder: Path) -> None:
    if _is_failure(result) or claim.picture is None or claim.measure is None:
        return
    from creases_reproduction.results import result_path

    path, numbers = (result_path(folder, claim.id, suffix) for suffix in (".png", ".json"))
    if path.exists() and path.stat().st_mtime >= numbers.stat().st_mtime:  # the result was there already
        return
    from creases.show import save_figure
    from creases_reproduction.figures.claims import claim_figure

    figure = claim_figure(claim.picture(cast("Result", result).numbers), f"{claim.id}: {claim.place}")
    save_figure(figure, path, dpi=110)


def _print_list(claims: list[Claim], as_json: bool, in_full: bool) -> None:
    from creases_reproduction.claim import FAMILIES
    from creases_reproduction.results import stored_verdict

    if as_json:
        print_json({"claims": [_describe_claim(claim) for claim in claims]})
        return
    if in_full:
        for claim in claims:
            _print_description(claim)
        return
    for family, name in FAMILIES.items():
        members = [claim for claim in claims if claim.family == family]
        if members:
            out.print(f"{family}: {escape(name)}", style="bold", soft_wrap=True)
            for claim in members:
                _print_line(claim.id, stored_verdict(claim), claim.says)
            out.print()
    verdicts = [stored_verdict(claim) for claim in claims]
    _print_number({name: verdicts.count(name) for name in verdicts})
    note("describe a claim: creases reproduce --list ID; run it: creases reproduce ID")


def _describe_claim(claim: Claim) -> dict[str, Any]:
    """Return everything known about a claim, with its stored result but without the result's numbers."""
    from creases_reproduction.claim import FAMILIES
    from creases_reproduction.results import data_note, full_cost, stored_result, stored_verdict

    result = stored_result(claim.id)
    fields = ("why", "command", "seconds", "machine", "versions")
    return {
        "id": claim.id,
        "source": FAMILIES[claim.family],
        "place": claim.place,
        "says": claim.says,
        "printed": claim.printed,
        "status": stored_verdict(claim),
        "cannot": claim.cannot,
        "takes": full_cost(claim, result),
        "data": data_note(claim, result),
        "misprints": list(claim.misprints),
        "full": None if result is None else {name: getattr(result, name) for name in fields},
    }


def _print_description(claim: Claim) -> None:
    """Print a claim with its stored result."""
    about = _describe_claim(claim)
    result = about["full"]
    out.print(f"[bold]{claim.id}[/]  {escape(claim.place)} of {escape(about['source'])}", soft_wrap=True)
    out.print(escape(claim.says), soft_wrap=True)
    if claim.printed:
        out.print(f"printed: {escape(claim.printed)}", soft_wrap=True)
    why = result["why"] if result else claim.cannot
    out.print(
        f"{_color_verdict(about['status'])}: {escape(why)}" if why else _color_verdict(about["status"]), soft_wrap=True
    )
    if result:
        versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items()) or "unknown versions"
        if not result["command"].startswith("creases "):
            out.print(f"[dim]computed by: {escape(result['command'])}[/]", soft_wrap=True)
        out.print(f"[dim]computed on {escape(result['machine'])}; {versions}[/]", soft_wrap=True)
    if about["data"]:
        out.print(f"[dim]{about['data']}[/]", soft_wrap=True)
    if claim.misprints:
        out.print(f"[dim]misprints: {', '.join(claim.misprints)}[/]", soft_wrap=True)
    if claim.measure:
        takes = f" ({escape(about['takes'])})" if about["takes"] else ""
        out.print(f"[dim]run: creases reproduce {claim.id} --scale full{takes}[/]", soft_wrap=True)
    out.print()


def _print_line(id: str, verdict: str, text: str) -> None:
    """Print a line for a claim, cut to the width of a terminal; in full if the output is a file or a pipe."""
    line = f"{id:{_ID_WIDTH}} {_color_verdict(verdict, 9)} {escape(text)}"
    if out.is_terminal:
        out.print(line, no_wrap=True, overflow="ellipsis", crop=True)
    else:
        out.print(line, soft_wrap=True)


def _print_result_line(claim: Claim, result: Result | Failure) -> None:
    """Print a line for a claim that was run."""
    from creases_reproduction.results import stored_verdict

    if _is_failure(result):
        _print_line(claim.id, "failed", cast("Failure", result).error.strip().splitlines()[-1])
        return
    done = cast("Result", result)
    full = stored_verdict(claim)
    other = f"(full: {full}) " if done.scale == "quick" and full != done.verdict else ""
    _print_line(claim.id, done.verdict, other + done.why)


def _print_result(claim: Claim, result: Result | Failure) -> None:
    """Print a claim with its printed and measured numbers and verdict; after a quick run also the stored verdict."""
    from creases_reproduction.results import stored_result

    out.print(f"[bold]{claim.id}[/]  {escape(claim.place)}", soft_wrap=True)
    out.print(escape(claim.says), soft_wrap=True)
    if _is_failure(result):
        err.print(escape(cast("Failure", result).error), style="dim", soft_wrap=True)
        out.print("[bold red]failed[/]\n")
        return
    done = cast("Result", result)
    rows = claim.picture(done.numbers).rows if claim.picture and claim.measure else ()
    if claim.printed and not any(row.printed is not None for row in rows):
        out.print(f"printed: {escape(claim.printed)}", soft_wrap=True)
    if rows:
        print_table("", [_row_cells(row) for row in rows], ("", "printed", "measured", "95 % interval"))
    seconds = f" ({done.scale}, {done.seconds:.1f} s)" if claim.measure else ""
    out.print(f"{_color_verdict(done.verdict)}: {escape(done.why)}{seconds}", soft_wrap=True)
    full = stored_result(claim.id)
    if done.scale == "quick" and full is not None:
        out.print(f"at full scale {_color_verdict(full.verdict)}: {escape(full.why)} (stored)", soft_wrap=True)
    out.print()


def _row_cells(row: Row) -> tuple[str, str, str, str]:
    def text(number: float | None) -> str:
        return "" if number is None else f"{number:.4g}"

    interval = "" if row.low is None or row.high is None else f"{text(row.low)} to {text(row.high)}"
    return row.what, text(row.printed), text(row.measured), interval


def _print_counts(results: list[tuple[Claim, Result | Failure]], scale: Scale) -> None:
    """Print how many claims have each verdict; after a quick run also by the stored results."""
    from collections import Counter

    from creases_reproduction.results import VERDICTS, count_verdicts, stored_verdict

    if len(results) < 2:
        return
    _print_number(count_verdicts(result for _, result in results), f" at {scale} scale")
    if scale == "quick":
        full = Counter(stored_verdict(claim) for claim, _ in results)
        _print_number(
            {name: full[name] for name in (*VERDICTS, "not run") if name in VERDICTS or full[name]},
            " at full scale (stored)",
        )


def _print_number(counts: dict[str, int], scale: str = "") -> None:
    words = ", ".join(f"{number} {_color_verdict(name)}" for name, number in counts.items())
    out.print(f"{plural(sum(counts.values()), 'claim')}{scale}: {words}", soft_wrap=True)


def _print_json(results: list[tuple[Claim, Result | Failure]]) -> None:
    from dataclasses import asdict

    from creases_reproduction.results import count_verdicts, stored_verdict

    listed = [{**asdict(result), "full": stored_verdict(claim)} for claim, result in results]
    print_json({"results": listed, "counts": count_verdicts(result for _, result in results)})


def _is_failure(result: Result | Failure) -> bool:
    from creases_reproduction.results import Failure

    return isinstance(result, Failure)


def _color_verdict(verdict: str, width: int = 0) -> str:
    """Return a verdict in its color; with a width, its short form padded to it."""
    color = _COLORS.get(verdict)
    word = f"{_SHORT_VERDICTS.get(verdict, verdict):{width}}" if width else verdict
    return f"[{color}]{word}[/]" if color else word
