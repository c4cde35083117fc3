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

#: Linear operations without a corresponding step: read as a dense matrix.
DENSE = words("einsum tensordot inner cumsum diff trapezoid trapz tril triu fold")
