"""Names of torch operations that need no handler."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


#: Queries whose results do not depend on a tensor's entries; torch answers them.
QUERIES = words(
    """
    shape size dim ndim ndimension dtype device numel nelement element_size itemsize layout stride storage_offset
    is_floating_point is_complex is_signed is_contiguous is_cuda is_cpu is_mps is_xla is_xpu is_meta is_sparse
    is_sparse_csr is_quantized is_mkldnn is_nested is_leaf is_inference is_conj is_neg requires_grad grad grad_fn
    names name _version data_ptr get_device __len__ __repr__ __format__ __hash__ is_same_size
    zeros_like ones_like full_like empty_like new_zeros new_ones new_full new_empty new_tensor
    """
)

#: Identities. Changes of floating-point precision are rounding, not part of the function.
IDENTITY_FUNCTIONS = words(
    """
    clone contiguous detach detach_ data cpu cuda to type type_as float double half bfloat16 requires_grad_ retain_grad
    positive __pos__
    """
)

#: Casts that are identities for masks only.
INTEGER_CASTS = words("int long short bool char byte")

#: Rearrangements of the entries of one tensor, some of which may repeat or drop.
MOVES = words(
    """
    view reshape flatten ravel unflatten squeeze unsqueeze view_as reshape_as expand expand_as broadcast_to repeat tile
    repeat_interleave __getitem__ select narrow index_select take_along_dim gather take diagonal
    chunk split split_with_sizes tensor_split hsplit vsplit dsplit unbind unfold_axis
    flip fliplr flipud roll rot90 movedim moveaxis t T mT atleast_1d atleast_2d atleast_3d
    pixel_shuffle pixel_unshuffle channel_shuffle native_channel_shuffle
    """
)

#: Permutations of the axes.
PERMUTATIONS = words("permute transpose swapaxes swapdims")

#: Operations along axes, which are their second argument or ``dim``.
ALONG_AXES = words("sum mean max min amax amin cat concat concatenate cumsum softmax log_softmax")

#: Linear operations without a corresponding step: read as a dense matrix.
DENSE = words("einsum tensordot inner cumsum diff trapezoid trapz fold")


# Operations that are not continuous piecewise-linear functions, by the reason with advice.

#: Refused only where their result is used: for the last operation there is better advice (:func:`final_advice`).
_DEFERRED = {
    "is smooth, so the network is not piecewise linear; replace it with ReLU, LeakyReLU or Hardtanh and train again "
    "(or fine-tune)": (
        "sigmoid tanh gelu silu mish elu celu selu softplus softsign logsigmoid log_sigmoid tanhshrink hardswish glu "
        "softmax log_softmax softmin logsumexp logaddexp expit exp expm1 log log1p log2 log10 sqrt rsqrt square "
        "reciprocal sin cos tan asin acos atan atan2 sinh cosh erf hypot xlogy sinc"
    ),
    "divides by statistics of its own input, so the network is not piecewise linear; use BatchNorm in eval mode, or "
    "no normalisation": "layer_norm group_norm instance_norm local_response_norm normalize rms_norm cosine_similarity",
    "squares network values, or takes the root of such a sum, so the network is not piecewise linear; sums and maxima "
    "of absolute values can be read": (
        "norm vector_norm linalg_norm linalg_vector_norm var std var_mean std_mean cdist dist pairwise_distance "
        "lp_pool1d lp_pool2d lp_pool3d"
    ),
    "is not continuous: it returns positions or an order, not values; let the model return the values": (
        "argmax argmin argsort mode unique searchsorted bucketize nonzero count_nonzero max_pool1d_with_indices "
        "max_pool2d_with_indices max_pool3d_with_indices adaptive_max_pool1d_with_indices "
        "adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices"
    ),
    "orders network values, of which only the largest and the smallest can be read; use max, min, amax or amin": (
        "sort topk median nanmedian kthvalue quantile msort"
    ),
    "compares or rounds network values, which is not continuous; write the bend as relu, leaky_relu, clamp, abs, "
    "maximum or minimum": (
        "gt lt ge le eq ne __eq__ __ne__ masked_select sign sgn signbit heaviside hardshrink logical_and logical_or "
        "logical_not logical_xor isnan isinf isfinite all any round floor ceil trunc frac fmod remainder floor_divide "
        "__floordiv__"
    ),
    "multiplies network values with each other, so the network is not piecewise linear; attention and other products "
    "of network values cannot be read": (
        "scaled_dot_product_attention multi_head_attention_forward _native_multi_head_attention bilinear cross outer "
        "prod cumprod"
    ),
    "samples values at positions of a grid, which cannot be read; write fixed positions with interpolate or indexing": (
        "grid_sample affine_grid"
    ),
    "is a recurrent layer, which cannot be read: LSTM and GRU are not piecewise linear; unroll a recurrence with ReLU "
    "into Linear and relu": "lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell",
}
REFUSED = words(" ".join(_DEFERRED.values()))

#: Refused immediately: what follows is not a torch operation.
CONDITIONS = words(
    """
    item tolist numpy __bool__ __float__ __int__ __index__ __complex__ __array__ __contains__ equal allclose is_nonzero
    """
)

_REASON = {name: why for why, names in _DEFERRED.items() for name in words(names)}
_REASON |= dict.fromkeys(
    CONDITIONS,
    "turns a network value into a Python number or a condition; a model whose control flow depends on the data cannot "
    "be read: use maximum, minimum, clamp or relu instead",
)
_REASON |= dict.fromkeys(
    words("rand_like randn_like randint_like bernoulli multinomial normal uniform exponential gumbel_softmax"),
    "uses random numbers, so the model is not a function of its input; disable it in eval mode",
)
_REASON |= dict.fromkeys(
    words("__setitem__ index_put index_add index_copy index_fill scatter scatter_add masked_scatter copy fill zero"),
    "writes into part of a tensor, which cannot be read; use torch.cat, torch.stack or pad",
)

#: Final operations that do not change the predicted class.
MONOTONE = words("softmax log_softmax sigmoid logsigmoid log_sigmoid expit tanh argmax")


def refusal(name: str) -> str:
    """Return why an operation cannot be read, and what to do."""
    return _REASON.get(
        name, "is not an operation that creases reads; write it with affine operations, relu, clamp, abs, max or min"
    )


def final_advice(name: str, place: str, removal: str) -> str:
    """Return advice for a model whose last operation does not change the predicted class."""
    return (
        f"{place}: {name} at the end of a model is not piecewise linear. Remove it: predictions do not change, as it "
        f"keeps the order of the outputs. {removal}"
    )
