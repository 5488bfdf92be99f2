"""The recipes for removed and deprecated API, run before and after: the same results, and no warning left.

What the installed torch lacks, or only raises for, is run after its fix alone.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import pytest

from tests.support import fix_text

torch: Any = pytest.importorskip("torch")

SETUP = """\
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
a = torch.rand(4, 4) + 4 * torch.eye(4)
s = a @ a.mT
b = torch.rand(4, 2)
x = torch.rand(1, 1, 4, 4)
v = torch.rand(4)
p = torch.rand(4, requires_grad=True)
"""

SAME = (
    "torch.lu(a)",
    "torch.lu_solve(b, torch.linalg.lu_factor(a)[0], torch.linalg.lu_factor(a)[1])",
    "torch.triangular_solve(b, a).solution",
    "torch.triangular_solve(b, a, False)[0]",
    "torch.chain_matmul(a, a, b)",
    "torch.range(0, 255)",
    "torch.range(-3, 3, dtype=torch.int64)",
    "torch.ger(v, v)",
    "torch.norm(a)",
    "torch.norm(a, 1)",
    "torch.norm(a, 2, 1)",
    "torch.norm(a, p=1, dim=0, keepdim=True)",
    "torch.norm(a, dim=1)",
    "torch.meshgrid(v, v)",
    "F.upsample(x, scale_factor=2)",
    "F.upsample_nearest(x, scale_factor=2)",
    "F.upsample_bilinear(x, (8, 8))",
    "F.tanh(a)",
    "F.sigmoid(a)",
    "F.mse_loss(a, s, size_average=False)",
    "F.mse_loss(a, s, size_average=True)",
    "F.mse_loss(a, s, reduce=False)",
    "nn.MSELoss(size_average=False, reduce=True)(a, s)",
    "nn.init.constant(a.clone(), 2.0)",
    "nn.Hardtanh(min_value=-2, max_value=2)(a)",
    "torch.has_mps",
    "torch.has_cuda",
    "str(torch.get_autocast_gpu_dtype())",
    "torch.is_autocast_cpu_enabled()",
    "torch.autograd.grad((p * p).sum(), p, only_inputs=True)[0]",
    "torch.autograd.grad((p * p).sum(), p, only_inputs=False)[0]",
    "F.gumbel_softmax(100 * torch.eye(4), hard=True, eps=1e-8)",
    "torch._utils.is_compiling()",
    "functorch.vmap(torch.sin)(a)",
    "functorch.jacrev(torch.sin)(v)",
    "a.storage().data_ptr() == a.untyped_storage().data_ptr()",
    "torch.utils.checkpoint.checkpoint(torch.sin, a)",
    "torch.stft(v.repeat(50), 64, window=torch.ones(64), return_complex=False).sum(-1)",
    "torch.nn.utils.stateless.functional_call(nn.Identity(), {}, (a,))",
    "torch.lu(a, get_infos=True)",
    "a.lu()",
    "a.lu(get_infos=True)",
    "b.lu_solve(*torch.linalg.lu_factor(a))",
    "torch.chain_matmul(*[a, a, b])",
    "b.lu_solve(torch.linalg.lu_factor(a)[0], torch.linalg.lu_factor(a)[1])",
    "b.triangular_solve(a, upper=False, transpose=True)[0]",
    "torch.triangular_solve(b, a, transpose=True).solution",
    "torch.triangular_solve(b, a, unitriangular=True)[0]",
    "v.ger(v)",
    *(f"torch.{name}(s, 2, a)" for name in ("add", "sub")),
    *(f"s.clone().{name}(2, a)" for name in ("add", "sub", "add_", "sub_")),
    *(f"torch.{name}(s, 2, a, a)" for name in ("addcmul", "addcdiv")),
    *(f"s.clone().{name}(2, a, a)" for name in ("addcmul", "addcdiv", "addcmul_", "addcdiv_")),
    *(f"s.clone().{name}({scale}, a, a)" for name in ("addmm", "addmm_") for scale in ("2", "2, 3")),
    *(f"v.clone().{name}({scale}, a, v)" for name in ("addmv", "addmv_") for scale in ("2", "2, 3")),
    *(f"s.clone().{name}({scale}, v, v)" for name in ("addr", "addr_") for scale in ("2", "2, 3")),
    *(f"s.clone().{name}({scale}, x[0], x[0])" for name in ("addbmm", "addbmm_") for scale in ("2", "2, 3")),
    *(
        f"x[0].clone().{name}({scale}, x[0], x[0])"
        for name in ("baddbmm", "baddbmm_")
        for scale in ("2", "2, 3")
    ),
    *(f"torch.addmm(2, s, {scale}a, a)" for scale in ("", "3, ")),
    *(f"torch.addmv(2, v, {scale}a, v)" for scale in ("", "3, ")),
    *(f"torch.addr(2, s, {scale}v, v)" for scale in ("", "3, ")),
    *(f"torch.addbmm(2, s, {scale}x[0], x[0])" for scale in ("", "3, ")),
    *(f"torch.baddbmm(2, x[0], {scale}x[0], x[0])" for scale in ("", "3, ")),
    *(f"torch.sspaddmm(2, a.to_sparse(), {scale}a.to_sparse(), a).to_dense()" for scale in ("", "3, ")),
    "torch.addmm(2, s, 3, a, a, out=torch.empty(4, 4))",
    "torch.add(s, 2, a, out=torch.empty(4, 4))",
    "torch._aminmax(a)",
    "torch._aminmax(a, 1, True)",
    "torch.nuclear_norm(a)",
    "torch.nuclear_norm(a[None], (1, 2), True)",
    "torch.sparse.FloatTensor(torch.zeros(2, 1).long(), v[:1], torch.Size([2, 3])).to_dense()",
    "torch.sparse.FloatTensor(torch.ones(2, 1).long(), v[:1]).to_dense()",
    "a.scatter(0, torch.zeros(2, 4).long(), s, reduce='add')",
    "a.clone().scatter_(0, torch.zeros(2, 4).long(), s, reduce='multiply')",
    "torch.scatter(a, 0, torch.zeros(2, 4).long(), s, reduce='add')",
    "a[[slice(None), 0]]",
    "a[[slice(1, None)] * 2]",
    "list(nn.Linear(2, 2).state_dict({}, 'p.').keys())[0]",
)
"""Expressions that the installed torch still evaluates."""

AFTER = {
    "torch.qr(a)": "torch.linalg.qr(a)",
    "torch.qr(b, some=False)": "torch.linalg.qr(b, mode='complete')",
    "torch.cholesky(s)": "torch.linalg.cholesky(s)",
    "torch.cholesky(s, True)": "torch.linalg.cholesky(s, upper=True)",
    "torch.solve(b, a).solution": "a.inverse() @ b",
    "torch.lstsq(b, a).solution": "a.inverse() @ b",
    "torch.symeig(s, eigenvectors=True)[0]": "torch.linalg.eigvalsh(s)",
    "torch.matrix_rank(a)": "torch.tensor(4)",
    "torch.stft(v.repeat(50), 64, window=torch.ones(64))": "torch.stft(v.repeat(50), 64, window=torch.ones(64), return_complex=False)",
    "v.repeat(50).stft(64, window=torch.ones(64))": "torch.stft(v.repeat(50), 64, window=torch.ones(64), return_complex=False)",
    "isinstance(1, torch._six.string_classes)": "False",
    "torch.cholesky(s, upper=len(s) > 1)": "torch.linalg.cholesky(s, upper=True)",
    "b.qr(len(b) > 9)": "torch.linalg.qr(b, mode='complete')",
    "torch.symeig(s, len(s) > 1)[0]": "torch.linalg.eigvalsh(s)",
    "torch.potrf(s)": "torch.linalg.cholesky(s, upper=True)",
    "s.potrf(upper=False)": "torch.linalg.cholesky(s)",
    "b.potrs(torch.linalg.cholesky(s), False)": "s.inverse() @ b",
    "torch.potri(torch.linalg.cholesky(s, upper=True))": "s.inverse()",
    "torch.gesv(b, a)[0]": "a.inverse() @ b",
    "torch.gels(b, a)[0]": "a.inverse() @ b",
    "torch.lstsq(v, a)[0]": "a.inverse() @ v[:, None]",
    "torch.trtrs(b, a, transpose=True)[0]": "a.triu().mT.inverse() @ b",
    "b.trtrs(a, False)[0]": "a.tril().inverse() @ b",
    "torch.btrifact(a)[0]": "torch.linalg.lu_factor(a)[0]",
    "a.btrifact_with_info()[0]": "torch.linalg.lu_factor(a)[0]",
    "b.btrisolve(torch.linalg.lu_factor(a)[0], torch.linalg.lu_factor(a)[1])": "a.inverse() @ b",
    "a.qr(some=False)": "torch.linalg.qr(a, mode='complete')",
    "s.cholesky(upper=True)": "torch.linalg.cholesky(s, upper=True)",
    "s.symeig()[0]": "torch.linalg.eigvalsh(s)",
    "s.symeig(eigenvectors=True, upper=False)[0]": "torch.linalg.eigvalsh(s)",
    "torch.symeig(s).eigenvalues": "torch.linalg.eigvalsh(s)",
    "torch.eig(s)[0].sum(0)": "torch.stack([torch.trace(s), torch.zeros(())])",
    "b.solve(a)[0]": "a.inverse() @ b",
    "b.lstsq(a)[0]": "a.inverse() @ b",
    "torch.fft(x[..., :2], 1)": "torch.view_as_real(torch.fft.fft(torch.complex(x[..., 0], x[..., 1])))",
    "torch.fft(x[..., :2], 2, True)": "torch.view_as_real(torch.fft.fft2(torch.complex(x[..., 0], x[..., 1]), norm='ortho'))",
    "torch.ifft(torch.fft(x[..., :2], 2), 2)": "x[..., :2]",
    "torch.ifft(torch.fft(x[..., :2], 3, True), 3, True)": "x[..., :2]",
    "torch.irfft(torch.rfft(x, 2), 2, signal_sizes=x.shape[-2:])": "x",
    "torch.irfft(torch.rfft(x[..., :3], 1), 1, signal_sizes=(3,))": "x[..., :3]",
    "torch.irfft(torch.rfft(x, 2, onesided=False), 2, onesided=False)": "x",
    "torch.irfft(torch.rfft(x, 3, True, False), 3, True, False)": "x",
    "torch.irfft(torch.rfft(x, 1), 1)": "x",
    "iter(torch.utils.data.DataLoader([1, 2])).next()": "torch.tensor([1])",
    "x[..., :2].fft(1)": "torch.view_as_real(torch.fft.fft(torch.complex(x[..., 0], x[..., 1])))",
    "x[..., :2].fft(2).ifft(2)": "x[..., :2]",
    "x.rfft(2, onesided=False).irfft(2, onesided=False)": "x",
    "x[..., :3].rfft(1).irfft(1, signal_sizes=(3,))": "x[..., :3]",
}
"""Expressions that it refuses, with what they are to give."""


IMPORTS = "import functorch, torch.utils.checkpoint, torch.nn.utils.stateless\n"


def value(expression: str, *, heard: bool) -> Any:
    """What an expression gives, in a program; with ``heard``, a warning of a deprecation is an error."""
    namespace: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error" if heard else "ignore", FutureWarning)
        warnings.simplefilter("error" if heard else "ignore", DeprecationWarning)
        exec(f"{SETUP}{IMPORTS}result = {expression}\n", namespace)
    return namespace["result"]


@functools.cache
def fixed() -> dict[str, str]:
    """The expressions after their fixes, which are made in one program."""
    expressions = (*SAME, *AFTER)
    lines = [f"result = {expression}" for expression in expressions]
    after = fix_text(
        SETUP + IMPORTS + "import torch._six\n" + "\n".join(lines), "--unsafe", "--min-version", "2.4"
    )
    return dict(zip(expressions, after.split("result = ")[1:], strict=True))


@pytest.mark.parametrize("expression", SAME)
def test_a_fix_gives_the_same(expression: str) -> None:
    after = fixed()[expression].strip()
    assert after != expression
    first, second = value(after, heard=True), value(expression, heard=False)
    if isinstance(second, str):
        assert first == second
    else:
        torch.testing.assert_close(first, second, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("expression", AFTER)
def test_a_fix_gives_what_was_meant(expression: str) -> None:
    after = fixed()[expression].strip()
    assert after != expression
    meant = value(AFTER[expression], heard=True)
    torch.testing.assert_close(value(after, heard=True), meant, rtol=1e-4, atol=1e-4)


def test_a_gradient_that_is_cleared_is_not_added_to() -> None:
    """The old function is written out: the installed torch lacks it."""
    steps = "for _ in range(3):\n    zero_gradients(x)\n    (x * x).sum().backward()\n    x.data += x.grad\n"
    imported = "from torch.autograd.gradcheck import zero_gradients\n"
    old = "def zero_gradients(x):\n    if x.grad is not None:\n        x.grad.detach_()\n        x.grad.zero_()\n"
    make = "import torch\nx = torch.ones(3, requires_grad=True)\n"
    before, after = dict[str, Any](), dict[str, Any]()
    exec(old + make + steps, before)
    text = fix_text(imported + make + steps, "--unsafe")
    assert "zero_gradients" not in text
    exec(text, after)
    torch.testing.assert_close(after["x"], before["x"])


def test_both_parts_of_a_solution_are_what_they_were() -> None:
    program = f"{SETUP}x, factors = torch.solve(b, a)\nresult = x, factors.diagonal().prod().abs()\n"
    namespace: dict[str, Any] = {}
    exec(fix_text(program, "--unsafe", "--min-version", "2.4"), namespace)
    a, b = namespace["a"], namespace["b"]
    torch.testing.assert_close(namespace["result"], (a.inverse() @ b, a.det().abs()), rtol=1e-4, atol=1e-4)


def test_contexts_and_decorators_do_the_same() -> None:
    before = """\
import torch


class Double(torch.autograd.Function):
    @staticmethod
    @torch.cuda.amp.custom_fwd
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @torch.cuda.amp.custom_bwd
    def backward(ctx, grad):
        return grad * 2


x = torch.ones(2, 2, requires_grad=True)
with torch.cpu.amp.autocast(True, torch.bfloat16):
    kind = (x @ x).dtype
Double.apply(x).sum().backward()
scaler = torch.cuda.amp.GradScaler(8.0, enabled=False)
result = kind, x.grad.tolist(), scaler.get_scale()
optimizer = torch.optim.SGD([x], 0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
is_scheduler = isinstance(scheduler, torch.optim.lr_scheduler._LRScheduler)
"""
    after = fix_text(before, "--unsafe", "--min-version", "2.4")
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(before, first)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        exec(after, second)
    assert first["result"] == second["result"]
    assert (first["is_scheduler"], second["is_scheduler"]) == (False, True)


COMPARED = (
    ("torch.ones(2)", "torch.ones(2)"),
    ("torch.ones(2)", "1 + 5e-5 * torch.ones(2)"),
    ("torch.ones(2)", "1 + 5e-4 * torch.ones(2)"),
    ("torch.ones(2)", "torch.ones(2, dtype=torch.int64)"),
    ("torch.ones(())", "1.0"),
    ("[1.0, float('nan')]", "torch.tensor([1.0, float('nan')])"),
    ("given", "[1.0, 1.0]"),
    ("torch.ones(2)", "given + 1"),
)


@pytest.mark.parametrize("tolerances", ["", ", rtol=1e-3, atol=1e-3", ", 0, 0", ", msg='differs'"])
@pytest.mark.parametrize(("first", "second"), COMPARED)
def test_assert_close_accepts_and_rejects_the_same(first: str, second: str, tolerances: str) -> None:
    before = f"import torch\n\n\ndef compare(given):\n    torch.testing.assert_allclose({first}, {second}{tolerances})\n"
    after = fix_text(before, "--unsafe")
    assert "assert_allclose" not in after

    def outcome(code: str) -> str:
        namespace: dict[str, Any] = {}
        exec(code, namespace)
        try:
            namespace["compare"](torch.ones(2))
        except AssertionError as error:
            return str(error)
        return "equal"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(before)
    assert outcome(after) == expected


OPTIMIZER = """\
import torch


class Slow(torch.optim.Optimizer):
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.param_groups = self.optimizer.param_groups

    def step(self, closure=None):
        return self.optimizer.step(closure)


p = torch.nn.Parameter(torch.ones(2))
slow = Slow(torch.optim.SGD([p], 0.5))
slow.zero_grad()
p.sum().backward()
slow.step()
slow.load_state_dict(slow.state_dict())
result = p.tolist(), slow.param_groups is slow.optimizer.param_groups
"""


def test_an_optimizer_has_its_hooks() -> None:
    with pytest.raises(AttributeError):
        exec(OPTIMIZER, {})
    namespace: dict[str, Any] = {}
    exec(fix_text(OPTIMIZER, "--unsafe"), namespace)
    assert namespace["p"].tolist() == [0.5, 0.5]


REGION = """\
import torch


def crop(x, dim, size):
    region = [slice(None)] * x.dim()
    region[dim] = slice(0, size)
    x[region] = 0
    return x, x[region]


result = crop(torch.ones(3, 3), 1, 2)
"""


def test_a_list_of_slices_is_the_same_index_as_a_tuple() -> None:
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(REGION, before)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(fix_text(REGION), after)
    torch.testing.assert_close(after["result"], before["result"])


OBJECT = """\
import argparse
import io

import torch

args = argparse.Namespace(lr=0.1)
buffer = io.BytesIO()
torch.save({"args": args, "x": torch.ones(2)}, buffer)
buffer.seek(0)
result = torch.load(buffer)["args"].lr
"""
STATE = """\
import io

import torch

model = torch.nn.Linear(2, 2)
buffer = io.BytesIO()
torch.save({"model": model.state_dict(), "epoch": 3}, buffer)
buffer.seek(0)
loaded = torch.load(buffer)
model.load_state_dict(loaded["model"])
result = loaded["epoch"]
"""
NAMESPACE = """\
import argparse
import io

import torch

buffer = io.BytesIO()


def save(args):
    torch.save({"args": args}, buffer)
    buffer.seek(0)


def main(args):
    saved = torch.load(args.path)
    return saved["args"].lr


save(argparse.Namespace(lr=0.1))
result = main(argparse.Namespace(path=buffer))
"""


@pytest.mark.skipif(
    not hasattr(torch.serialization, "get_unsafe_globals_in_checkpoint"), reason="older than torch 2.6"
)
@pytest.mark.parametrize(("code", "flags"), [(OBJECT, ()), (NAMESPACE, ("--unsafe", "--min-version", "2.5"))])
def test_a_file_with_parsed_arguments_loads_again(code: str, flags: tuple[str, ...]) -> None:
    with pytest.raises(Exception, match="Namespace"):
        exec(code, {})
    after: dict[str, Any] = {}
    exec(fix_text(code, *flags), after)
    assert after["result"] == 0.1


def test_a_state_dict_that_was_just_saved_loads_with_weights_only() -> None:
    after: dict[str, Any] = {}
    fixed_code = fix_text(STATE, "--unsafe")
    assert "weights_only=True" in fixed_code
    exec(fixed_code, after)
    assert after["result"] == 3


HOOKED = """\
import torch
from torch import nn

def keep(module, grad_input, grad_output):
    kept.append((grad_output[0].clone(), {read}))

torch.manual_seed(0)
kept = []
for module in (nn.Linear(3, 2), nn.Sequential(nn.Conv1d(4, 4, 1), nn.Tanh()), nn.LayerNorm(3)):
    module.register_backward_hook(keep)
    inputs = torch.randn(4, 3, requires_grad=True)
    module(inputs).square().sum().backward()
    kept.append((inputs.grad, None))
"""


def run_hooks(code: str) -> tuple[list[Any], list[str]]:
    """Run code with hooks; return what they kept, and the warnings."""
    names: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        exec(code, names)
    return names["kept"], [str(one.message) for one in heard]


def test_a_full_hook_gets_the_gradients_of_outputs_and_no_warning() -> None:
    code = HOOKED.format(read="None")
    fixed = fix_text(code, "--unsafe", "--min-version", "2.0")
    assert "register_full_backward_hook" in fixed
    (before, warned), (after, silent) = run_hooks(code), run_hooks(fixed)
    assert sum("non-full backward hook" in one for one in warned) == 3
    assert silent == []
    assert all(torch.equal(one[0], other[0]) for one, other in zip(before, after, strict=True))


def test_a_full_hook_gets_the_gradient_of_the_input() -> None:
    code = HOOKED.format(read="grad_input[0]")
    kept, _ = run_hooks(fix_text(code, "--unsafe", "--min-version", "2.0"))
    for (_, first), (whole, _) in zip(kept[::2], kept[1::2], strict=True):
        assert torch.equal(first, whole)
