"""Names of torch functions, grouped by their effect on units."""

from __future__ import annotations

from creases.network._reading.operators.names import IDENTITY_FUNCTIONS, MOVES, QUERIES, words

#: Nonlinear functions of one entry, smooth ones included.
BEND_FUNCTIONS = words(
    """
    relu relu6 leaky_relu prelu rrelu hardtanh hardsigmoid hardswish threshold _threshold clamp clip clamp_min clamp_max
    abs absolute __abs__ elu selu celu gelu silu mish softplus softsign sigmoid tanh tanhshrink logsigmoid log_sigmoid
    softshrink hardshrink square sin cos exp sqrt expit
    """
)

#: Functions of one entry, or of the same entry of several tensors.
ELEMENTWISE = (
    BEND_FUNCTIONS
    | IDENTITY_FUNCTIONS
    | words(
        """
        add sub rsub mul div neg pow maximum minimum fmax fmin lerp where masked_fill addcmul addcdiv negative multiply
        subtract divide true_divide __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __rdiv__
        __neg__ __pow__ __rpow__ reciprocal rsqrt log log1p expm1 nan_to_num sign floor ceil round
        dropout dropout1d dropout2d dropout3d alpha_dropout feature_dropout feature_alpha_dropout
        """
    )
)

#: Functions of one channel's image at a time.
SPATIAL = (
    frozenset(
        f"{name}{axes}d{suffix}"
        for name in ("avg_pool", "adaptive_avg_pool", "max_pool", "adaptive_max_pool", "lp_pool", "fractional_max_pool")
        for axes in (1, 2, 3)
        for suffix in ("", "_with_indices")
    )
    | {f"_{name}" for name in ("max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool2d")}
    | words("interpolate upsample pad")
)

#: Functions of all entries along some axes.
REDUCTIONS = words("mean sum amax amin max min var std logsumexp nanmean")

#: Functions that join the entries of several tensors.
JOIN_FUNCTIONS = words("cat concat concatenate stack hstack vstack dstack")

#: Functions that rearrange the entries of a tensor.
MOVE_FUNCTIONS = MOVES | words("permute transpose swapaxes swapdims")

#: Functions that leave each entry as it is, wherever they put it.
PASSING_FUNCTIONS = MOVE_FUNCTIONS | IDENTITY_FUNCTIONS | JOIN_FUNCTIONS

#: Functions of layers, whose weights identify units.
LAYERS = words("linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d")

__all__ = [
    "BEND_FUNCTIONS",
    "ELEMENTWISE",
    "IDENTITY_FUNCTIONS",
    "JOIN_FUNCTIONS",
    "LAYERS",
    "MOVE_FUNCTIONS",
    "PASSING_FUNCTIONS",
    "QUERIES",
    "REDUCTIONS",
    "SPATIAL",
]
