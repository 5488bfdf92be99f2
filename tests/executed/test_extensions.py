"""Fixes of C++ sources of extensions: the compiler refuses or warns of the old code, and takes the new one silently."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import fix_text

torch = pytest.importorskip("torch")

LINES = """\
void f1(at::Tensor x) { AT_CHECK(x.dim() == 2, "two dimensions"); }
void f2(at::Tensor x) { AT_WARN("slow"); }
void f3(at::Tensor x) { AT_INDEX_ERROR("too wide"); }
void f4(at::Tensor x) { AT_DISPATCH_FLOATING_TYPES(x.type(), "f", [&] { (void)x.numel(); }); }
void f5(at::Tensor x) { AT_DISPATCH_ALL_TYPES_AND_HALF(x.scalar_type(), "f", [&] { (void)x.numel(); }); }
void f6(at::Tensor x) { AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, x.type(), "f", [&] { (void)x.numel(); }); }
float* w1(at::Tensor x) { return x.data<float>(); }
float* w2(const at::Tensor& x) { return x.contiguous().data<float>(); }
float* w3(std::vector<at::Tensor> all) { return all[0].data<float>(); }
bool w4(at::Tensor x) { return x.type().is_cuda() || x.type().is_sparse(); }
at::ScalarType w5(at::Tensor x) { return x.type().scalarType(); }
at::DeviceType w6(at::Tensor x) { return x.type().device_type(); }
std::string w7(at::Tensor x) { return x.type().toString(); }
int64_t w8(at::Tensor x) { at::IntList sizes = x.sizes(); return sizes[0]; }
at::Tensor w9(at::Tensor x) { return at::zeros({1}, x.type()); }
at::Tensor w10(at::Tensor x, at::Tensor y) { return y.to(x.type()); }
int64_t w11(at::Tensor x) { return x.packed_accessor<float, 2>().size(0); }
"""


def compile_source(text: str, folder: Path) -> str:
    """Return what the compiler says of a source that includes ATen."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no g++")
    path = folder / "source.cpp"
    path.write_text(f"#include <ATen/ATen.h>\n#include <ATen/Dispatch.h>\n{text}")
    include = Path(torch.__file__).parent / "include"
    command = [compiler, "-std=c++20", "-fsyntax-only", "-isystem", str(include), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def find_lines(output: str) -> set[int]:
    """Return the lines of the source that the compiler names."""
    places = (line.partition("source.cpp:")[2].partition(":")[0] for line in output.splitlines())
    return {int(place) - 2 for place in places if place.isdigit()}


def test_the_compiler_takes_fixed_sources(tmp_path: Path) -> None:
    fixed = fix_text(f"#include <torch/extension.h>\n{LINES}", "--unsafe", path="source.cpp").partition("\n")[
        2
    ]
    assert len(fixed.splitlines()) == len(LINES.splitlines())
    assert find_lines(compile_source(fixed, tmp_path)) == set()


def test_the_compiler_refuses_or_warns_of_what_is_reported(tmp_path: Path) -> None:
    assert find_lines(compile_source(LINES, tmp_path)) >= set(range(1, len(LINES.splitlines()) + 1))
