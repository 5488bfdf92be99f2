"""The inference of which expressions of a file are tensors, from what calls torch, what is annotated, and what is tested.

Every list is one of names that certainly give one tensor; `tests/executed/test_tensors.py` calls them all. A name is not
listed where its arguments decide whether a tuple comes back: `torch.max(x, 0)`, `torch.unique(x, return_counts=True)`.
"""

from __future__ import annotations

import ast
from itertools import pairwise

from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.scopes import Scope, StatementPlace
from torchmigrate.semantics.symbol_uses import SymbolUses

CLASSES = frozenset(
    f"torch.{name}"
    for name in (
        *("Tensor", "nn.Parameter", "nn.parameter.Parameter", "nn.Buffer"),
        *(f"{kind}Tensor" for kind in ("Float", "Double", "Half", "Int", "Long", "Bool", "Byte")),
    )
)
"""The classes of which each instance is a tensor."""

# One text for each module is a tenth as long as a list with one name a line.
TORCH = frozenset(
    """
    abs absolute acos acosh adaptive_avg_pool1d add addbmm addcdiv addcmul addmm addmv addr adjoint all
    amax amin angle any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort
    argwhere as_strided as_tensor asarray asin asinh atan atan2 atanh avg_pool1d baddbmm bartlett_window
    bernoulli bilinear binary_cross_entropy_with_logits bincount binomial bitwise_and bitwise_left_shift
    bitwise_not bitwise_or bitwise_right_shift bitwise_xor blackman_window block_diag bmm broadcast_to
    bucketize cartesian_prod cat cdist ceil celu chain_matmul channel_shuffle cholesky cholesky_inverse
    cholesky_solve clamp clamp_max clamp_min clip clone column_stack combinations complex concat
    concatenate conj conj_physical conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
    copysign corrcoef cos cosh cosine_similarity count_nonzero cov cross cumprod cumsum
    cumulative_trapezoid deg2rad det detach diag diag_embed diagflat diagonal diagonal_scatter diff
    digamma dist div divide dot dstack einsum embedding empty empty_like eq erf erfc erfinv exp exp2 expm1
    eye fix flatten flip fliplr flipud float_power floor floor_divide fmax fmin fmod frac from_dlpack
    from_numpy frombuffer full full_like gather gcd ge ger greater greater_equal group_norm gt
    hamming_window hann_window hardshrink heaviside hinge_embedding_loss histc hstack hypot i0 igamma
    igammac imag index_add index_copy index_fill index_put index_select inner inverse isclose isfinite
    isin isinf isnan isneginf isposinf isreal istft kaiser_window kl_div kron layer_norm lcm ldexp le lerp
    less less_equal lgamma linspace log log10 log1p log2 log_softmax logaddexp logaddexp2 logcumsumexp
    logdet logical_and logical_not logical_or logical_xor logit logspace logsumexp lt margin_ranking_loss
    masked_fill masked_scatter masked_select matmul matrix_exp matrix_power max_pool1d max_pool2d
    max_pool3d maximum mean minimum mm moveaxis movedim msort mul multinomial multiply mv mvlgamma
    nan_to_num nanmean nanquantile nansum narrow ne neg negative nextafter norm normal not_equal ones
    ones_like orgqr outer pairwise_distance pdist permute pinverse pixel_shuffle pixel_unshuffle poisson
    polar polygamma positive pow prelu prod quantile rad2deg rand rand_like randint randint_like randn
    randn_like randperm range ravel real reciprocal relu remainder renorm repeat_interleave reshape
    resolve_conj resolve_neg rms_norm roll rot90 round row_stack rrelu rsqrt rsub scalar_tensor scatter
    scatter_add scatter_reduce searchsorted select select_scatter selu sgn sigmoid sign signbit sin sinc
    sinh slice_scatter softmax sqrt square squeeze stack std stft sub subtract sum swapaxes swapdims t
    take take_along_dim tan tanh tensor tensordot threshold tile trace transpose trapezoid trapz tril
    tril_indices triplet_margin_loss triu triu_indices true_divide trunc unflatten unsqueeze vander var
    vdot view_as_complex view_as_real vstack xlogy zeros zeros_like
    """.split()  # noqa: SIM905 -- a list of names is read as one
)
"""The functions of `torch` that return one tensor; a method of the same name does too."""

FUNCTIONAL = frozenset(
    """
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d alpha_dropout avg_pool1d avg_pool2d
    avg_pool3d batch_norm bilinear binary_cross_entropy binary_cross_entropy_with_logits celu
    channel_shuffle conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
    cosine_embedding_loss cosine_similarity cross_entropy ctc_loss dropout dropout1d dropout2d dropout3d
    elu embedding embedding_bag feature_alpha_dropout fold gaussian_nll_loss gelu glu grid_sample
    group_norm gumbel_softmax hardshrink hardsigmoid hardswish hardtanh hinge_embedding_loss huber_loss
    instance_norm interpolate kl_div l1_loss layer_norm leaky_relu linear local_response_norm log_softmax
    logsigmoid lp_pool1d lp_pool2d margin_ranking_loss mish mse_loss multi_margin_loss
    multilabel_margin_loss multilabel_soft_margin_loss nll_loss normalize one_hot pad pairwise_distance
    pdist pixel_shuffle pixel_unshuffle poisson_nll_loss prelu relu relu6 rms_norm rrelu
    scaled_dot_product_attention selu sigmoid silu smooth_l1_loss soft_margin_loss softmax softmin
    softplus softshrink softsign tanh tanhshrink threshold triplet_margin_loss
    triplet_margin_with_distance_loss unfold upsample upsample_bilinear upsample_nearest
    """.split()  # noqa: SIM905 -- a list of names is read as one
)
"""The functions of `torch.nn.functional` that return one tensor."""

LINALG = frozenset(
    """
    cholesky cond cross det diagonal eigvals eigvalsh householder_product inv lu_solve matmul matrix_exp
    matrix_norm matrix_power matrix_rank multi_dot norm pinv solve solve_triangular svdvals tensorinv
    tensorsolve vander vecdot vector_norm
    """.split()  # noqa: SIM905 -- a list of names is read as one
)
"""The functions of `torch.linalg` that return one tensor."""

METHODS = TORCH | frozenset(
    """
    bfloat16 bool byte cdouble cfloat chalf char contiguous copy cpu cuda double expand expand_as
    exponential fill fill_diagonal float half int log_normal long new_empty new_full new_ones new_tensor
    new_zeros pin_memory random repeat requires_grad reshape_as resize resize_as set share_memory short
    sum_to_size to to_dense to_sparse type_as unfold uniform view view_as xpu zero
    """.split()  # noqa: SIM905 -- a list of names is read as one
)
"""The methods of a tensor that return one tensor, as do those with a `_` behind that change it in place."""

IN_PLACE = frozenset(
    """
    add_ addcdiv_ addcmul_ clamp_ copy_ div_ fill_ mul_ neg_ sqrt_ sub_ zero_
    """.split()  # noqa: SIM905 -- a list of names is read as one
)
"""The methods whose results are taken for tensors whatever they are called on: among what torch's programs handle, only
storages have some of them (`copy_`, `fill_`), and nothing that is asked about a tensor concerns these."""

VIEWS = frozenset({"T", "mT", "H", "mH", "data", "real", "imag"})
"""The attributes of a tensor that are tensors."""

SIZED = frozenset({"randn", "rand", "zeros", "ones", "empty", "randint", "full"})
"""The functions of `torch` that make a tensor of the sizes they are given."""

_GIVING_MATRICES = frozenset({"mm", "column_stack", "vstack", "eye", "inverse", "diag_embed"})
"""The functions and methods whose results have at least two dimensions, whatever they are given."""

_MODULES = ("torch.fft.", "torch.special.")
"""The modules of which every function returns one tensor."""
_RETURNING = frozenset(
    f"{module}.{name}()"
    for module, names in (("torch", TORCH), ("torch.nn.functional", FUNCTIONAL), ("torch.linalg", LINALG))
    for name in names
) | frozenset(f"{name}()" for name in CLASSES)
_DEPTH = 8


def is_tensor(node: ast.expr, place: StatementPlace, uses: SymbolUses, depth: int = _DEPTH) -> bool:
    """Return whether an expression evaluated at ``place`` certainly is one tensor, and no list or tuple of some."""
    if depth == 0:
        return False
    match node:
        case ast.Name():
            value = uses.data_flow.find_definition(node, place.scope)
            if value is None:
                known = is_tensor_parameter(node.id, place.scope, uses)
            else:
                known = is_tensor(value, place, uses, depth - 1)
            return known or _is_tested(node.id, place, uses)
        case ast.Call():
            return _returns_tensor(node, place, uses, depth)
        case ast.BinOp(op=op, left=left, right=right):
            # `text % x` is a text whatever `x` is; every other operator with a tensor on one side gives a tensor.
            sides = [left] if isinstance(op, ast.Mod) else [left, right]
            return any(is_tensor(side, place, uses, depth - 1) for side in sides)
        case ast.Attribute(attr="grad"):
            return uses.names.resolve_expression(node, place.scope) is None  # not `torch.autograd.grad`
        case ast.Attribute(value=owner, attr=name):
            return name in VIEWS and is_tensor(owner, place, uses, depth - 1)
        case ast.Subscript(value=owner):
            return is_tensor(owner, place, uses, depth - 1)
    return False


def is_matrix(node: ast.expr, place: StatementPlace, uses: SymbolUses, depth: int = _DEPTH) -> bool:
    """Return whether an expression evaluated at ``place`` certainly is a tensor of at least two dimensions."""
    match node:
        case ast.Name() if depth:
            value = uses.data_flow.find_definition(node, place.scope)
            return value is not None and is_matrix(value, place, uses, depth - 1)
        case ast.Call(func=ast.Attribute(attr="unsqueeze"), args=[ast.Constant(value=int() as dimension)]):
            return dimension > 0
        case ast.Call(func=ast.Attribute(attr="view" | "reshape"), args=sizes) if sizes:
            return sum(not isinstance(size, ast.Starred) for size in sizes) > 1
        case ast.Call(func=func):
            sized = [size for size in list_sizes(node) if not isinstance(size, ast.Starred)]
            return last_name(func) in _GIVING_MATRICES or len(sized) > 1
        case ast.Attribute(attr="mT" | "mH"):
            return True
        case ast.Subscript(slice=ast.Tuple(elts=parts)):
            return sum(_keeps_dimension(part) for part in parts) > 1
    return False


def _keeps_dimension(part: ast.expr) -> bool:
    """Return whether a part of an index leaves a dimension: a slice, or the new one of ``None``."""
    return isinstance(part, ast.Slice) or (isinstance(part, ast.Constant) and part.value is None)


def _returns_tensor(call: ast.Call, place: StatementPlace, uses: SymbolUses, depth: int) -> bool:
    resolved = uses.names.resolve_expression(call, place.scope)
    if resolved is not None and resolved.certain and _is_listed(resolved.names[0], call):
        return True
    if not isinstance(call.func, ast.Attribute):
        return False
    method = call.func.attr
    if method in IN_PLACE:
        return True
    # Without a condition's two values, `where` gives the indices of a tensor's elements, as a tuple.
    is_listed = method.removesuffix("_") in METHODS or (method == "where" and len(call.args) == 2)
    return is_listed and is_tensor(call.func.value, place, uses, depth - 1)


def _is_listed(name: str, call: ast.Call) -> bool:
    """Return whether the result called ``name``, as in ``torch.fft.rfft()``, is one tensor."""
    if name in _RETURNING:
        return True
    if name == "torch.where()":
        return len(call.args) == 3
    return name.startswith(_MODULES) and name.count(".") == 2


def is_tensor_parameter(name: str, scope: Scope, uses: SymbolUses) -> bool:
    """Return whether a name is a parameter that is annotated as a tensor, and bound nowhere else."""
    owner = scope.find_scope(name)
    bindings = owner.bindings[name] if owner is not None else []
    if len(bindings) != 1 or not isinstance(bindings[0].node, ast.arg):
        return False
    annotation = bindings[0].node.annotation
    return annotation is not None and _is_class(annotation, scope, uses)


def _is_class(node: ast.expr, scope: Scope, uses: SymbolUses) -> bool:
    resolved = uses.names.resolve_expression(node, scope)
    return resolved is not None and resolved.certain and resolved.names[0] in CLASSES


def _is_tested(name: str, place: StatementPlace, uses: SymbolUses) -> bool:
    """Return whether a place is below ``if isinstance(name, torch.Tensor):``, where nothing binds the name anew."""
    owner = place.scope.find_scope(name)
    bound = {binding.node for binding in owner.bindings[name]} if owner is not None else set()
    for inner, outer in pairwise(place.enclosing_places()):
        branch = outer.statement
        if isinstance(branch, ast.If) and inner.statement in branch.body:
            is_kept = bound.isdisjoint(node for below in branch.body for node in ast.walk(below))
            if is_kept and _implies_tensor(branch.test, name, place, uses):
                return True
    return False


def _implies_tensor(test: ast.expr, name: str, place: StatementPlace, uses: SymbolUses) -> bool:
    match test:
        case ast.BoolOp(op=ast.And(), values=parts):
            return any(_implies_tensor(part, name, place, uses) for part in parts)
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=tested), kind]):
            return tested == name and _is_class(kind, place.scope, uses)
    return False


def list_sizes(call: ast.Call) -> list[ast.expr]:
    """List the sizes that a call of one of the `SIZED` functions is given: ``torch.randn(2, 3)``, ``torch.full((2, 3), 0.5)``."""
    name = last_name(call.func)
    several = next((given for given in call.args if isinstance(given, (ast.Tuple, ast.List))), None)
    if name not in SIZED:
        return []
    if several is not None:
        return several.elts
    # The first numbers of `randint` are bounds, and those of `full` no sizes unless in a tuple.
    return [] if name in ("randint", "full") else call.args


def is_size(argument: ast.expr) -> bool:
    """Return whether an argument certainly is one size or several: a number, a length, ``x.shape[0]``, ``*sizes``."""
    match argument:
        case ast.Constant(value=int()) | ast.Starred():
            return True
        case ast.Call(func=ast.Name(id="len" | "int")) | ast.Call(func=ast.Attribute(attr="size" | "numel")):
            return True
        case ast.Attribute(attr="shape") | ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
        case ast.BinOp(left=left, right=right):
            return is_size(left) and is_size(right)
    return False
