"""Read mutated CSV files: each is read, or refused in one sentence that names every offending column.

    python bench/tables_fuzz.py --count 1000

Mutations: encodings, separators, quotes, byte order marks, damaged bytes, ragged rows, 10,000 columns, missing or
repeated names, empty columns, numbers as text, infinite numbers, one row, one class, IDs and free text. A file that is
read must be encoded again, from the stored encoding, to the last bit; a file that is refused must leave no folder.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from record import note
from table_mutations import check, mutants


def main() -> None:
    """Check so many files and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for k, (sheet, content) in enumerate(mutants(options.count, options.seed)):
            try:
                counts[check(sheet, content, Path(folder))] += 1
            except Exception as error:  # what is neither read nor refused
                counts["neither"] += 1
                print(f"file {k} ({', '.join(sheet.done)}): {type(error).__name__}: {str(error)[:300]}", flush=True)
    for name, outcome in {"read": "read", "rejected": "refused"}.items():
        note(name, f"{counts[outcome]:,}")
    note("files", f"{options.count:,}")
    note("columns", "10,000")
    print(f"{options.count} files: {dict(counts)}, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
