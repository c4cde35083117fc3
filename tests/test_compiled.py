"""Kernels are compiled again when any source file of their room has changed."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

import pytest
from numba.core import caching

from creases._compiled import cache_folder, is_cached, jit, source_stamp
from creases.lab._training.kernel import forward, work


def test_a_kernel_is_stamped_with_all_sources_of_its_room() -> None:
    stamp = source_stamp(work.py_func)  # type: ignore[attr-defined]
    names = {name for name, _, _ in stamp}
    assert {"kernel.py", "train.py", "_simd.py", "_sweep.py"} <= names
    assert stamp == source_stamp(forward.py_func)  # type: ignore[attr-defined]
    assert work.compiled._cache._cache_file._source_stamp == stamp  # type: ignore[attr-defined]


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


def test_without_a_folder_to_cache_in_a_kernel_is_compiled_at_each_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object) -> None:
        raise OSError("read-only file system")

    monkeypatch.setattr(caching._CacheLocator, "ensure_cache_path", refuse)
    kernel = jit(add)
    with pytest.warns(RuntimeWarning, match="set NUMBA_CACHE_DIR"):
        assert kernel(2, 3) == 5
    module = ModuleType("kernels")
    module.kernel = kernel  # type: ignore[attr-defined]
    assert cache_folder(module) is None
    assert not is_cached(module)


def add(a: int, b: int) -> int:
    return a + b
