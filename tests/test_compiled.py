"""Kernels are compiled again when any source file of their room has changed."""

from __future__ import annotations

import os
from pathlib import Path

from creases._compiled import source_stamp
from creases.lab._training.kernel import work
from creases.lab._training.steps import adam


def test_a_kernel_is_stamped_with_all_sources_of_its_room() -> None:
    stamp = source_stamp(work.py_func)  # type: ignore[attr-defined]
    names = {name for name, _, _ in stamp}
    assert {"kernel.py", "steps.py", "layers.py", "losses.py", "_vectors.py", "ray.py"} <= names
    assert stamp == source_stamp(adam.py_func)  # type: ignore[attr-defined]
    assert work._cache._cache_file._source_stamp == stamp  # type: ignore[attr-defined]


def test_a_change_of_another_file_changes_the_stamp(tmp_path: Path) -> None:
    room = tmp_path / "creases" / "room"
    room.mkdir(parents=True)
    for name in ("first", "second"):
        (room / f"{name}.py").write_text("def f(): ...\n")
    names: dict[str, object] = {}
    exec(compile("def f(): ...\n", str(room / "first.py"), "exec"), names)
    import creases._compiled as compiled

    original, compiled.__file__ = compiled.__file__, str(tmp_path / "creases" / "compiled.py")
    try:
        before = source_stamp(names["f"])  # type: ignore[arg-type]
        os.utime(room / "second.py", ns=(1, 1))
        assert len(before) == 2
        assert source_stamp(names["f"]) != before  # type: ignore[arg-type]
    finally:
        compiled.__file__ = original
