"""Short vectors as numbers of compiled code: numba types whose operations are single instructions over all entries.

A narrow vector holds one number of each of 16 (float32) or 8 (float64) networks, 64 bytes; a wide one those of
``SAMPLES`` samples, sample by sample. The compiler keeps both in registers. No operation mixes entries of different
networks, and every one rounds the same in each entry.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import factorial, log
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending
from numba.core.typing import templates

# numba's own types for these are not complete
types: Any = numba.types
models: Any = extending.models
lower_builtin: Any = extending.lower_builtin
infer_global: Any = templates.infer_global


def intrinsic(function: Any) -> Any:
    """Return numba's decorator for functions that write LLVM instructions."""
    return extending.intrinsic(function)


#: Samples in a wide vector.
SAMPLES = 8

#: Bytes of a narrow vector.
BYTES = 64


class Vector(numba.types.Type):
    """The type of ``count`` floating-point numbers of one precision."""

    def __init__(self, dtype: Any, count: int) -> None:
        self.dtype, self.count = dtype, count
        super().__init__(name=f"vector({dtype}, {count})")


@extending.register_model(Vector)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, fe_type: Vector) -> None:
        super().__init__(dmm, fe_type, _llvm(fe_type))


def _llvm(vector: Vector) -> Any:
    return ir.VectorType(ir.DoubleType() if vector.dtype == types.float64 else ir.FloatType(), vector.count)


def _constant(vector: Vector, value: float) -> Any:
    return ir.Constant(_llvm(vector), [value] * vector.count)


def _function(builder: Any, name: str, result: Any, args: list[Any]) -> Any:
    """Return an LLVM function by its name."""
    known = builder.module.globals.get(name)
    return known if known is not None else ir.Function(builder.module, ir.FunctionType(result, args), name)


def _call(builder: Any, name: str, *args: Any) -> Any:
    """LLVM's function of vectors of one type, such as ``llvm.sqrt``."""
    kind = args[0].type
    suffix = f"v{kind.count}f{64 if isinstance(kind.element, ir.DoubleType) else 32}"
    return builder.call(_function(builder, f"{name}.{suffix}", kind, [kind] * len(args)), args)


def _operator(symbol: Any, instruction: str) -> None:
    @infer_global(symbol)
    class Typing(templates.AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            if len(args) == 2 and isinstance(args[0], Vector) and args[0] == args[1]:
                return args[0](*args)
            return None

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args)

    lower_builtin(symbol, Vector, Vector)(lower)


for _symbol, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _operator(_symbol, _instruction)


def _narrow(dtype: Any) -> Vector:
    return Vector(dtype, BYTES * 8 // dtype.bitwidth)


def _wide(dtype: Any) -> Vector:
    return Vector(dtype, SAMPLES * BYTES * 8 // dtype.bitwidth)


@intrinsic
def vectors(context: Any, array: Any, first: Any) -> Any:
    """Return the vectors of a flat array, which begins at a multiple of 64 bytes, from narrow vector ``first`` on.

    One machine word instead of an array's seven, where functions that are called often are given many of them.
    """
    narrow = _narrow(array.dtype)

    def build(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        return builder.gep(data, [builder.mul(args[1], ir.IntType(64)(narrow.count))])

    return types.CPointer(array.dtype)(array, types.int64), build


@intrinsic
def apart(context: Any) -> Any:
    """Compile the function that calls this on its own, not as part of those that call it: that takes far longer."""

    def build(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), build


def _place(builder: Any, pointer: Any, index: Any, vector: Vector) -> Any:
    first = builder.gep(pointer, [builder.mul(index, ir.IntType(64)(vector.count))])
    return builder.bitcast(first, _llvm(vector).as_pointer())


def _loader(kind: Callable[[Any], Vector]) -> Any:
    def load(context: Any, pointer: Any, index: Any) -> Any:
        vector = kind(pointer.dtype)

        def build(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.load(_place(builder, args[0], args[1], vector), align=BYTES)

        return vector(pointer, types.int64), build

    return intrinsic(load)


def _storer(kind: Callable[[Any], Vector]) -> Any:
    def store(context: Any, pointer: Any, index: Any, value: Any) -> Any:
        vector = kind(pointer.dtype)

        def build(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            builder.store(args[2], _place(builder, args[0], args[1], vector), align=BYTES)
            return context.get_dummy_value()

        return types.void(pointer, types.int64, vector), build

    return intrinsic(store)


#: ``load(vectors, index)``, ``store(vectors, index, vector)``: narrow vectors; ``index`` counts them.
load, store = _loader(_narrow), _storer(_narrow)

load_wide = _loader(_wide)  #: ``load_wide(vectors, index)``: a wide vector; ``index`` counts them
store_wide = _storer(_wide)  #: ``store_wide(vectors, index, vector)``: store a wide vector


@intrinsic
def fill(context: Any, value: Any, like: Any) -> Any:
    """Return a vector of one number, of the type of ``like``."""

    def build(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        number = context.cast(builder, args[0], sig.args[0], like.dtype)
        kind = _llvm(like)
        first_lane = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), like.count), [0] * like.count)
        return builder.shuffle_vector(first_lane, ir.Constant(kind, ir.Undefined), zeros)

    return like(value, like), build


@intrinsic
def spread(context: Any, narrow: Any) -> Any:
    """Return a wide vector that repeats a narrow one for each sample."""
    wide = Vector(narrow.dtype, narrow.count * SAMPLES)

    def build(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), wide.count), [*range(narrow.count)] * SAMPLES)
        return builder.shuffle_vector(args[0], ir.Constant(_llvm(narrow), ir.Undefined), lanes)

    return wide(narrow), build


def _parts(builder: Any, wide: Any, count: int) -> list[Any]:
    nothing = ir.Constant(wide.type, ir.Undefined)
    kind = ir.VectorType(ir.IntType(32), count)
    return [
        builder.shuffle_vector(wide, nothing, ir.Constant(kind, [*range(start, start + count)]))
        for start in range(0, wide.type.count, count)
    ]


@intrinsic
def add_samples(context: Any, narrow: Any, wide: Any) -> Any:
    """Return a narrow vector plus the sum over samples of a wide one, sample by sample."""

    def build(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        total = args[0]
        for part in _parts(builder, args[1], narrow.count):
            total = builder.fadd(total, part)
        return total

    return narrow(narrow, wide), build


@intrinsic
def add_products(context: Any, narrow: Any, first: Any, second: Any) -> Any:
    """Return a narrow vector plus the sum over samples of the products of two wide ones, sample by sample."""

    def build(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        total = args[0]
        for a, b in zip(*(_parts(builder, wide, narrow.count) for wide in args[1:]), strict=True):
            total = _call(builder, "llvm.fmuladd", a, b, total)
        return total

    return narrow(narrow, first, second), build


@intrinsic
def fma(context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a b + c, rounded once where the processor can."""
    return a(a, b, c), lambda context, builder, sig, args: _call(builder, "llvm.fmuladd", *args)


def _estimate(context: Any, builder: Any, name: str, vector: Vector, x: Any) -> Any:
    """Return the processor's estimate of 1 / x ("rcp") or 1 / sqrt(x) ("rsqrt"), good to 14 bits, or None."""
    if vector != Vector(types.float32, 16) or "+avx512f" not in context.codegen()._tm_features:
        return None
    kind, mask = _llvm(vector), ir.IntType(16)
    function = _function(builder, f"llvm.x86.avx512.{name}14.ps.512", kind, [kind, kind, mask])
    return builder.call(function, [x, _constant(vector, 0.0), mask(-1)])


@intrinsic
def sqrt(context: Any, a: Any) -> Any:
    """Return the root of a >= 0; in float32 within 2 units of the last place, and of 1e-37 at least and 1e38 at most.

    From an estimate y of 1 / sqrt(a), with s = a y and h = y / 2, a step of Goldschmidt's: s + s (1/2 - h s).
    """

    def build(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        high = _constant(a, 1e38)
        x = builder.select(builder.fcmp_ordered("<", args[0], high), args[0], high)
        x = builder.fadd(x, _constant(a, 1e-37))
        y = _estimate(context, builder, "rsqrt", a, x)
        if y is None:
            return _call(builder, "llvm.sqrt", args[0])
        s, h = builder.fmul(x, y), builder.fmul(y, _constant(a, -0.5))
        return _call(builder, "llvm.fmuladd", s, _call(builder, "llvm.fmuladd", h, s, _constant(a, 0.5)), s)

    return a(a), build


@intrinsic
def inverse(context: Any, a: Any) -> Any:
    """1 / a for a of ordinary size; in float32 within 2 units of the last place: y + y (1 - a y) from an estimate y."""

    def build(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        one = _constant(a, 1.0)
        y = _estimate(context, builder, "rcp", a, args[0])
        if y is None:
            return builder.fdiv(one, args[0])
        return _call(builder, "llvm.fmuladd", y, _call(builder, "llvm.fmuladd", builder.fneg(args[0]), y, one), y)

    return a(a), build


@intrinsic
def size(context: Any, a: Any) -> Any:
    """Return |a|."""
    return a(a), lambda context, builder, sig, args: _call(builder, "llvm.fabs", *args)


@intrinsic
def where_less(context: Any, a: Any, b: Any, yes: Any, no: Any) -> Any:
    """``yes`` where a < b, else (or where one is NaN) ``no``."""

    def build(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", args[0], args[1]), args[2], args[3])

    return yes(a, b, yes, no), build


def _bits(dtype: Any) -> tuple[Any, int, float]:
    """Return the integer of a number's size, the bits of its mantissa, and a number whose last bit has the value 1."""
    if dtype == types.float64:
        return ir.IntType(64), 52, 1.5 * 2.0**52
    return ir.IntType(32), 23, 1.5 * 2.0**23


#: ln(2) in two parts, of which the first times a small whole number is exact.
_LN2 = (0.693145751953125, 1.4286068203094172e-06)


@intrinsic
def exp(context: Any, x: Any) -> Any:
    """exp(x) for x <= 0, within 2 units of the last place; exp(-87) in float32 and exp(-708) in float64 for less.

    x = k ln(2) + r; exp(r) by its series. k comes from adding a number so large that the sum is rounded to whole
    numbers; its last bits are the exponent of the result.
    """
    integer, shift, large = _bits(x.dtype)
    terms, least = (13, -708.0) if x.dtype == types.float64 else (7, -87.0)

    def build(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        def multiply_add(a: Any, b: Any, c: Any) -> Any:
            return _call(builder, "llvm.fmuladd", a, b, c)

        small = builder.fcmp_ordered("<", args[0], _constant(x, least))
        arg = builder.select(small, _constant(x, least), args[0])
        raised = multiply_add(arg, _constant(x, 1 / log(2)), _constant(x, large))
        k = builder.fsub(raised, _constant(x, large))
        r = multiply_add(k, _constant(x, -_LN2[1]), multiply_add(k, _constant(x, -_LN2[0]), arg))
        p = _constant(x, 1 / factorial(terms))
        for degree in range(terms - 1, -1, -1):
            p = multiply_add(p, r, _constant(x, 1 / factorial(degree)))
        integers = ir.VectorType(integer, x.count)
        moved = builder.shl(builder.bitcast(raised, integers), ir.Constant(integers, [shift] * x.count))
        ones = builder.bitcast(_constant(x, 1.0), integers)
        return builder.fmul(p, builder.bitcast(builder.add(moved, ones), _llvm(x)))

    return x(x), build


@intrinsic
def log1p(context: Any, x: Any) -> Any:
    """log(1 + x) for x >= 0.

    u = 1 + x = 2^k m with m in [3/4, 3/2); log(m) = 2 artanh((m - 1) / (m + 1)) by its series; what u lost to rounding
    is added as (x - (u - 1)) / u.
    """
    integer, shift, _ = _bits(x.dtype)
    terms = 11 if x.dtype == types.float64 else 5

    def build(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        one, integers = _constant(x, 1.0), ir.VectorType(integer, x.count)

        def number(value: int) -> Any:
            return ir.Constant(integers, [value] * x.count)

        u = builder.fadd(args[0], one)
        lost = builder.fdiv(builder.fsub(args[0], builder.fsub(u, one)), u)
        threequarters = int(np.array(0.75, f"f{integer.width // 8}").view(f"i{integer.width // 8}"))
        above = builder.sub(builder.bitcast(u, integers), number(threequarters))
        k = builder.ashr(above, number(shift))
        m = builder.bitcast(builder.sub(builder.bitcast(u, integers), builder.shl(k, number(shift))), _llvm(x))
        s = builder.fdiv(builder.fsub(m, one), builder.fadd(m, one))
        square = builder.fmul(s, s)
        p = _constant(x, 2 / (2 * terms + 1))
        for degree in range(terms - 1, -1, -1):
            p = _call(builder, "llvm.fmuladd", p, square, _constant(x, 2 / (2 * degree + 1)))
        times = builder.sitofp(k, _llvm(x))
        rest = _call(builder, "llvm.fmuladd", times, _constant(x, log(2)), builder.fmul(p, s))
        result = builder.fadd(rest, lost)
        finite = builder.fcmp_ordered("<", args[0], _constant(x, float("inf")))
        return builder.select(finite, result, args[0])

    return x(x), build


@intrinsic
def fetch_and_increment(context: Any, counter: Any) -> Any:
    """Add 1 to a counter that threads share, a (1,) array of int64; return its value before."""

    def build(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        return builder.atomic_rmw("add", data, ir.IntType(64)(1), "monotonic")

    return types.int64(counter), build
