"""Operations that are not continuous piecewise-linear functions, and what to do about each."""

from __future__ import annotations

_SMOOTH = (
    "is smooth, so the network is not piecewise linear; replace it by ReLU, LeakyReLU or Hardtanh and train again "
    "(or fine-tune)"
)
_STATISTICS = (
    "divides by statistics of its own input, so the network is not piecewise linear; use BatchNorm in eval mode, or no "
    "normalisation"
)
_RANDOM = "draws random numbers, so the model is not one function; switch it off in eval mode"
_ORDER = "is not continuous: it gives positions, not values; let the model return the values"
_COMPARISON = "compares network values, which is not continuous; write the bend as relu, leaky_relu, clamp, abs, maximum or minimum"
_ATTENTION = (
    "multiplies network values with each other, so the network is not piecewise linear; attention cannot be read"
)
_RECURRENT = (
    "uses smooth gates and products of network values, so it is not piecewise linear; recurrent layers cannot be read"
)
_DATA = (
    "turns a network value into a Python number or a condition; a model whose control flow depends on the data cannot be "
    "read: use maximum, minimum, clamp or relu instead"
)

_REASONS = {
    _SMOOTH: "sigmoid tanh gelu silu mish elu celu selu softplus softsign logsigmoid log_sigmoid tanhshrink exp expm1 log log1p log2 "
    "log10 sqrt rsqrt square sin cos tan asin acos atan sinh cosh erf hardswish glu softmax log_softmax softmin "
    "logsumexp logaddexp reciprocal special_expit expit _softmax hypot atan2 xlogy sinc",
    _STATISTICS: "layer_norm group_norm instance_norm local_response_norm normalize rms_norm norm var std var_mean std_mean "
    "cosine_similarity cdist vector_norm linalg_norm linalg_vector_norm lp_pool1d lp_pool2d lp_pool3d dist pairwise_distance",
    _RANDOM: "rand_like randn_like randint_like bernoulli multinomial normal normal_ uniform_ bernoulli_ gumbel_softmax "
    "dropout_train",
    _ORDER: "argmax argmin argsort topk sort median mode kthvalue unique searchsorted bucketize nonzero count_nonzero",
    _COMPARISON: "gt lt ge le eq ne greater less where masked_fill sign sgn heaviside round floor ceil trunc frac fmod "
    "remainder hardshrink softshrink_ logical_and logical_or logical_not isnan isinf isfinite all any "
    "__gt__ __lt__ __ge__ __le__ __eq__ __ne__ floor_divide __floordiv__ masked_select signbit",
    _ATTENTION: "scaled_dot_product_attention multi_head_attention_forward bilinear _native_multi_head_attention cross outer prod "
    "cumprod grid_sample",
    _RECURRENT: "lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell",
    _DATA: "item tolist numpy __bool__ __float__ __int__ __index__ __array__ __contains__ equal allclose is_nonzero "
    "__complex__ int long short bool char byte __iter__",
}
_REASON = {name: reason for reason, names in _REASONS.items() for name in names.split()}
_AT_ONCE = (_DATA, _RANDOM)

#: Refused only when their result is used: at the very end of a model there is better advice (:func:`at_the_end`).
REFUSED = frozenset(name for name, reason in _REASON.items() if reason not in _AT_ONCE)

#: Final operations that leave the classification as it is.
MONOTONE = frozenset(
    "softmax log_softmax sigmoid logsigmoid log_sigmoid special_expit expit argmax _softmax tanh".split()
)


def refusal(name: str) -> str:
    """Why an operation cannot be read, and what to do."""
    if name in (
        "__setitem__",
        "index_put",
        "index_add",
        "index_copy",
        "scatter",
        "scatter_add",
        "masked_scatter",
        "copy",
    ):
        return "writes into part of a tensor, which cannot be read; use torch.cat, torch.stack or pad"
    return _REASON.get(
        name, "is not an operation that creases reads; write it with affine operations, relu, clamp, abs, max or min"
    )


def at_the_end(name: str, place: str, removal: str) -> str:
    """Advice for a model that ends in an operation which does not change the classification."""
    return (
        f"{place}: {name} at the very end of a model is not piecewise linear. Drop it: classification is unchanged, as "
        f"it keeps the order of the outputs. {removal}"
    )
