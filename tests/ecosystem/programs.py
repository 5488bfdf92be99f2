"""Uses torch-geometric, kornia and torchvision: `python programs.py REPORT FOLDER...` in a process of its own.

The report, written by `torch.save`, says which modules of the packages in the folders import, what every program below
returns, and which functions it runs on the way. A program carries the names of the functions that it is there for.
"""

# ruff: noqa: E402

from __future__ import annotations

import importlib
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor

# The extension of torchvision does not load beside a CPU build of torch; its Python files ask for these operators.
for operator in ("nms", "qnms"):
    torch.library.define(
        f"torchvision::{operator}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    )

import kornia
import torch_geometric
import torchvision
from torch_geometric import nn, utils
from torch_geometric.experimental import is_experimental_mode_enabled
from torch_geometric.hash_tensor import HashTensor
from torch_geometric.nn.pool.connect import ConnectOutput, FilterEdges
from torch_geometric.nn.pool.select import SelectOutput, SelectTopK
from torch_geometric.utils import _trim_to_layer as trim
from torchvision import ops, tv_tensors
from torchvision.models import detection
from torchvision.transforms import functional
from torchvision.transforms.v2 import functional as v2

Program = Callable[[], Any]
PROGRAMS: dict[Program, tuple[str, ...]] = {}


def runs(*names: str) -> Callable[[Program], Program]:
    """Adds a program; ``names`` are the functions that it is there for, by module and qualified name."""

    def add(program: Program) -> Program:
        PROGRAMS[program] = names
        return program

    return add


def graph(nodes: int = 12, edges: int = 40) -> Tensor:
    """The edges of a random graph, with self-loops and duplicates."""
    return torch.randint(nodes, (2, edges))


def features(nodes: int = 12, channels: int = 8) -> Tensor:
    """Random features of its nodes."""
    return torch.randn(nodes, channels)


def sparse_graph() -> Any:
    """The graph as a sparse matrix."""
    return torch_geometric.utils.to_torch_csr_tensor(utils.coalesce(graph()), size=(12, 12))


def edge_index(order: str = "col") -> Any:
    """The graph as a sorted `EdgeIndex`."""
    return torch_geometric.EdgeIndex(utils.coalesce(graph()), sparse_size=(12, 12)).sort_by(order).values


# torch-geometric: functions


@runs("torch_geometric._onnx.is_in_onnx_export")
def in_onnx_export() -> Any:
    return torch_geometric.is_in_onnx_export()


@runs("torch_geometric.experimental.is_experimental_mode_enabled")
def experimental_mode() -> Any:
    with torch_geometric.experimental_mode("disable_dynamic_shapes"):
        return is_experimental_mode_enabled("disable_dynamic_shapes"), is_experimental_mode_enabled()


@runs("torch_geometric.hash_tensor._new_index_select", "torch_geometric.hash_tensor._new_select")
def hash_tensor() -> Any:
    tensor = HashTensor(torch.tensor([10, 3, 7]), torch.randn(3, 2))
    return torch.index_select(tensor, 0, torch.tensor([7, 10])), torch.select(tensor, 0, 3)


@runs("torch_geometric.utils._coalesce.coalesce")
def coalesce() -> Any:
    edges = graph()
    return utils.coalesce(edges), utils.coalesce(edges, torch.randn(40))


@runs("torch_geometric.utils._sort_edge_index.sort_edge_index")
def sort_edge_index() -> Any:
    return utils.sort_edge_index(graph(), torch.randn(40)), utils.sort_edge_index(graph(), sort_by_row=False)


@runs("torch_geometric.utils._spmm.spmm")
def spmm() -> Any:
    return [utils.spmm(source, features(), "mean") for source in (sparse_graph(), edge_index("row"))]


@runs("torch_geometric.utils.loop.remove_self_loops")
def remove_self_loops() -> Any:
    return [utils.remove_self_loops(edges) for edges in (graph(), edge_index(), sparse_graph())]


@runs("torch_geometric.utils.loop.segregate_self_loops")
def segregate_self_loops() -> Any:
    return [utils.segregate_self_loops(edges) for edges in (graph(), edge_index())]


@runs("torch_geometric.utils.loop.add_self_loops")
def add_self_loops() -> Any:
    return [utils.add_self_loops(edges) for edges in (graph(), edge_index(), sparse_graph())]


@runs("torch_geometric.utils.loop.add_remaining_self_loops")
def add_remaining_self_loops() -> Any:
    return (
        utils.add_remaining_self_loops(graph(), torch.randn(40), fill_value="mean"),
        utils.add_remaining_self_loops(edge_index()),
    )


@runs("torch_geometric.utils.mask.mask_select")
def mask_select() -> Any:
    return utils.mask_select(features(), 0, torch.rand(12) > 0.5)


@runs("torch_geometric.utils.num_nodes.maybe_num_nodes")
def maybe_num_nodes() -> Any:
    return [utils.num_nodes.maybe_num_nodes(edges) for edges in (graph(), edge_index(), sparse_graph())]


@runs("torch_geometric.utils.undirected.to_undirected")
def to_undirected() -> Any:
    return utils.to_undirected(graph()), utils.to_undirected(graph(), torch.randn(40), reduce="mean")


@runs("torch_geometric.utils.undirected.is_undirected")
def is_undirected() -> Any:
    return utils.is_undirected(graph()), utils.is_undirected(utils.to_undirected(graph()))


@runs(
    "torch_geometric.utils._trim_to_layer.TrimToLayer.forward",
    "torch_geometric.utils._trim_to_layer.trim_adj",
)
def trim_to_layer() -> Any:
    module = trim.TrimToLayer()
    index = torch_geometric.EdgeIndex(graph(), sparse_size=(12, 12))
    return [module(1, [4, 4, 4], [20, 20], features(), edges, torch.randn(40)) for edges in (graph(), index)]


# torch-geometric: layers and models


@runs("torch_geometric.nn.conv.gcn_conv.gcn_norm")
def gcn_conv() -> Any:
    layer = nn.GCNConv(8, 4)
    return layer(features(), graph(), torch.rand(40)), layer(features(), sparse_graph())


@runs("torch_geometric.nn.conv.gat_conv.GATConv.forward")
def gat_conv() -> Any:
    return nn.GATConv(8, 4, heads=2)(features(), graph(), return_attention_weights=True)


@runs("torch_geometric.nn.conv.gatv2_conv.GATv2Conv.forward")
def gatv2_conv() -> Any:
    return nn.GATv2Conv(8, 4, heads=2)(features(), graph(), return_attention_weights=True)


@runs("torch_geometric.nn.conv.fa_conv.FAConv.forward")
def fa_conv() -> Any:
    return nn.FAConv(8)(features(), features(), graph(), return_attention_weights=True)


@runs("torch_geometric.nn.conv.transformer_conv.TransformerConv.forward")
def transformer_conv() -> Any:
    return nn.TransformerConv(8, 4, heads=2)(features(), graph(), return_attention_weights=True)


@runs("torch_geometric.nn.conv.graph_conv.GraphConv.message_and_aggregate")
def graph_conv() -> Any:
    layer = nn.GraphConv(8, 4)
    return layer(features(), graph()), layer(features(), edge_index()), layer(features(), sparse_graph())


@runs("torch_geometric.nn.conv.rgcn_conv.RGCNConv.__init__")
def rgcn_conv() -> Any:
    return nn.RGCNConv(8, 4, num_relations=3, num_bases=2)(features(), graph(), torch.randint(3, (40,)))


@runs(
    "torch_geometric.nn.conv.message_passing.MessagePassing._check_input",
    "torch_geometric.nn.conv.message_passing.MessagePassing._index_select",
)
def message_passing() -> Any:
    layer = nn.SAGEConv(8, 4)
    return layer(features(), graph()), layer(features(), sparse_graph())


@runs("torch_geometric.nn.conv.message_passing.MessagePassing.decomposed_layers")
def decomposed_layers() -> Any:
    layer = nn.GCNConv(8, 4)
    layer.decomposed_layers = 2
    return layer.eval()(features(), graph())


@runs(
    "torch_geometric.nn.conv.message_passing.MessagePassing.explain",
    "torch_geometric.nn.conv.message_passing.MessagePassing.propagate",
    "torch_geometric.nn.conv.message_passing.MessagePassing._lift",
)
def explain() -> Any:
    layer = nn.GraphConv(8, 4)
    layer.explain = True
    layer._edge_mask, layer._loop_mask, layer._apply_sigmoid = torch.rand(40), torch.ones(40) > 0, True
    return layer(features(), graph())


@runs("torch_geometric.nn.dense.linear.HeteroLinear.forward")
def hetero_linear() -> Any:
    return nn.HeteroLinear(8, 4, num_types=3)(features(), torch.randint(3, (12,)))


@runs("torch_geometric.nn.dense.linear.HeteroDictLinear.forward")
def hetero_dict_linear() -> Any:
    return nn.HeteroDictLinear(8, 4, types=["a", "b"])({"a": features(), "b": features(3)})


@runs("torch_geometric.nn.models.basic_gnn.BasicGNN.forward")
def basic_gnn() -> Any:
    models = (nn.GCN, nn.GraphSAGE, nn.GIN, nn.GAT, nn.EdgeCNN)
    outputs = [model(8, 16, num_layers=2, out_channels=4)(features(), graph()) for model in models]
    edges = torch.cat([graph(8, 20), graph(12, 20)], dim=1)
    trimmed = nn.GraphSAGE(8, 16, num_layers=2)(
        features(), edges, num_sampled_nodes_per_hop=[4, 4, 4], num_sampled_edges_per_hop=[20, 20]
    )
    return [*outputs, trimmed]


@runs(
    "torch_geometric.nn.models.rect.RECT_L.embed", "torch_geometric.nn.models.rect.RECT_L.get_semantic_labels"
)
def rect() -> Any:
    model = nn.models.RECT_L(8, 16)
    labels = model.get_semantic_labels(features(), torch.randint(3, (12,)), torch.rand(12) > 0.3)
    return model.embed(features(), graph()), labels


@runs("torch_geometric.nn.pool.connect.base.ConnectOutput.__init__")
def connect_output() -> Any:
    return ConnectOutput(graph(), torch.randn(40))


@runs("torch_geometric.nn.pool.select.base.SelectOutput.__init__")
def select_output() -> Any:
    return SelectOutput(torch.arange(4), 12, torch.arange(4), 4)


@runs("torch_geometric.nn.pool.connect.filter_edges.FilterEdges.forward")
def filter_edges() -> Any:
    return FilterEdges()(SelectTopK(8, ratio=5)(features()), graph(), torch.randn(40))


@runs("torch_geometric.nn.pool.connect.filter_edges.FilterEdges.forward")
def pooling() -> Any:
    return nn.TopKPooling(8, 0.5)(features(), graph()), nn.SAGPooling(8, 0.5)(features(), graph())


# kornia


@runs("kornia.feature.hardnet.HardNet8.forward")
def hardnet8() -> Any:
    with mock.patch("torch.nn.init.orthogonal_"):  # takes seconds
        model = kornia.feature.HardNet8(pretrained=False)
    return model.eval()(torch.rand(2, 1, 32, 32))


@runs(
    "kornia.feature.mkd.ExplicitSpacialEncoding.forward",
    "kornia.feature.mkd.ExplicitSpacialEncoding.init_kron",
)
def explicit_spacial_encoding() -> Any:
    return [
        kornia.feature.mkd.ExplicitSpacialEncoding(kernel_type=kind, fmap_size=8, in_dims=3)(
            torch.rand(2, 3, 8, 8)
        )
        for kind in ("polar", "cart")
    ]


@runs("kornia.losses.ms_ssim.MS_SSIMLoss.forward")
def ms_ssim() -> Any:
    return kornia.losses.MS_SSIMLoss()(torch.rand(1, 3, 32, 32), torch.rand(1, 3, 32, 32))


# torchvision
def boxes(number: int = 5) -> Tensor:
    """Random boxes, by their corners."""
    corners = torch.rand(number, 2) * 16
    return torch.cat([corners, corners + torch.rand(number, 2) * 16], dim=1)


def image(*batch: int) -> Tensor:
    """A random image of 3 channels."""
    return torch.rand(*batch, 3, 16, 20)


@runs(
    *("torchvision.ops.boxes.box_convert", "torchvision.ops.boxes.box_area", "torchvision.ops.boxes.box_iou"),
    *("torchvision.ops.boxes.remove_small_boxes", "torchvision.ops.boxes.clip_boxes_to_image"),
)
def box_operations() -> Any:
    return (
        ops.box_convert(boxes(), "xyxy", "cxcywh"),
        ops.box_area(boxes()),
        ops.box_iou(boxes(), boxes(3)),
        ops.remove_small_boxes(boxes(), 4.0),
        ops.clip_boxes_to_image(boxes(), (20, 20)),
    )


@runs(
    *("torchvision.ops.boxes.generalized_box_iou", "torchvision.ops.boxes.complete_box_iou"),
    "torchvision.ops.boxes.distance_box_iou",
)
def box_overlaps() -> Any:
    overlaps = (ops.generalized_box_iou, ops.complete_box_iou, ops.distance_box_iou)
    return [overlap(boxes(), boxes(3)) for overlap in overlaps]


@runs(
    *("torchvision.ops.ciou_loss.complete_box_iou_loss", "torchvision.ops.diou_loss.distance_box_iou_loss"),
    *("torchvision.ops.giou_loss.generalized_box_iou_loss", "torchvision.ops.focal_loss.sigmoid_focal_loss"),
)
def losses() -> Any:
    between_boxes = (ops.complete_box_iou_loss, ops.distance_box_iou_loss, ops.generalized_box_iou_loss)
    focal = ops.sigmoid_focal_loss(torch.randn(4, 5), torch.rand(4, 5).round(), reduction="mean")
    return [loss(boxes(), boxes()) for loss in between_boxes], focal


@runs("torchvision.ops.boxes.masks_to_boxes")
def masks_to_boxes() -> Any:
    return ops.masks_to_boxes(torch.rand(3, 16, 16) > 0.9)


@runs(
    *("torchvision.ops.drop_block.drop_block2d", "torchvision.ops.drop_block.drop_block3d"),
    "torchvision.ops.stochastic_depth.stochastic_depth",
)
def dropping() -> Any:
    return (
        ops.drop_block2d(image(2), 0.2, 3),
        ops.drop_block3d(torch.rand(1, 2, 6, 6, 6), 0.2, 3),
        ops.stochastic_depth(image(4), 0.5, "row"),
    )


@runs(
    "torchvision.models.googlenet.GoogLeNet.forward", "torchvision.models.googlenet.GoogLeNet.eager_outputs"
)
def googlenet() -> Any:
    model = torchvision.models.googlenet(weights=None, init_weights=False, num_classes=7)
    return model(torch.rand(2, 3, 64, 64)), model.eval()(torch.rand(1, 3, 64, 64))


@runs(
    "torchvision.models.inception.Inception3.forward", "torchvision.models.inception.Inception3.eager_outputs"
)
def inception() -> Any:
    model = torchvision.models.inception_v3(weights=None, init_weights=False, aux_logits=False, num_classes=7)
    return model.eval()(torch.rand(1, 3, 96, 96))


@runs(
    "torchvision.models.densenet._DenseLayer.forward",
    "torchvision.models.densenet._DenseLayer.call_checkpoint_bottleneck",
)
def densenet() -> Any:
    model = torchvision.models.DenseNet(8, (2, 2), 8, memory_efficient=True, num_classes=7)
    return model(torch.rand(2, 3, 32, 32))


@runs("torchvision.models.detection._utils.encode_boxes")
def encode_boxes() -> Any:
    return detection._utils.encode_boxes(boxes(), boxes(), torch.tensor([10.0, 10.0, 5.0, 5.0]))


@runs("torchvision.models.detection.transform._resize_image_and_masks")
def detection_transform() -> Any:
    module = detection.transform.GeneralizedRCNNTransform(24, 48, [0.5] * 3, [0.2] * 3)
    images, targets = module([image(), image()], [{"boxes": boxes(), "labels": torch.ones(5)}] * 2)
    return images.tensors, images.image_sizes, targets


@runs(
    *(f"torchvision.transforms.functional.{name}" for name in ("resize", "pad", "crop", "hflip", "normalize"))
)
def transforms() -> Any:
    return (
        functional.resize(image(), [8, 8]),
        functional.pad(image(), [1, 2]),
        functional.crop(image(), 2, 3, 8, 9),
        functional.hflip(image()),
        functional.normalize(image(), [0.5] * 3, [0.2] * 3),
    )


@runs(*(f"torchvision.transforms._functional_pil.{name}" for name in ("hflip", "crop", "adjust_contrast")))
def transforms_of_pil_images() -> Any:
    picture = functional.to_pil_image(image())
    results = (
        functional.hflip(picture),
        functional.crop(picture, 1, 2, 8, 9),
        functional.adjust_contrast(picture, 2.0),
    )
    return [functional.pil_to_tensor(result) for result in results]


@runs(
    *(
        f"torchvision.transforms.v2.functional._color.adjust_{name}"
        for name in ("brightness", "hue", "gamma")
    ),
    *(f"torchvision.transforms.v2.functional._color.{name}" for name in ("equalize", "invert", "posterize")),
)
def colors() -> Any:
    return (
        v2.adjust_brightness(image(), 1.5),
        v2.adjust_hue(image(), 0.1),
        v2.adjust_gamma(image(), 2.0),
        v2.equalize(tv_tensors.Image((image() * 255).to(torch.uint8))),
        v2.invert(image()),
        v2.posterize((image() * 255).to(torch.uint8), 4),
    )


@runs(
    *(f"torchvision.transforms.v2.functional._geometry.{name}" for name in ("resize", "affine", "rotate")),
    *(f"torchvision.transforms.v2.functional._geometry.{name}" for name in ("perspective", "five_crop")),
)
def geometry() -> Any:
    corners = [[0, 0], [19, 0], [19, 15], [0, 15]]
    return (
        v2.resize(image(), [8, 8]),
        v2.affine(tv_tensors.Image(image()), 10.0, [1.0, 2.0], 1.2, [3.0]),
        v2.rotate(image(), 30.0, expand=True),
        v2.five_crop(image(), [8, 8]),
        v2.perspective(image(), corners, [[1, 1], [18, 2], [19, 14], [0, 15]]),
    )


@runs(
    *("torchvision.transforms.v2.functional._meta.convert_bounding_box_format",),
    *("torchvision.transforms.v2.functional._meta.clamp_bounding_boxes",),
)
def bounding_boxes() -> Any:
    tensor = tv_tensors.BoundingBoxes(boxes(), format="XYXY", canvas_size=(16, 16))
    return v2.convert_bounding_box_format(tensor, new_format="CXCYWH"), v2.clamp_bounding_boxes(tensor)


def plain(value: Any) -> Any:
    """The value as tensors, strings and numbers in lists."""
    if isinstance(value, Tensor):
        tensor = value.as_tensor() if hasattr(value, "as_tensor") else value.detach().to_dense()
        return tensor.detach().as_subclass(Tensor)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return [[str(key), plain(inner)] for key, inner in value.items()]
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return [type(value).__name__, plain(vars(value))]


def run(program: Program) -> tuple[Any, list[tuple[str, int]]]:
    """What a program returns, and the functions that it runs, by file and first line."""
    ran: set[tuple[str, int]] = set()

    def notice(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            ran.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    sys.setprofile(notice)
    try:
        value = program()
    finally:
        sys.setprofile(None)
    return plain(value), sorted(ran)


def modules(folder: Path) -> Iterator[str]:
    """The dotted names of all modules in a folder of packages."""
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def failure(name: str) -> str | None:
    """Why a module does not import, or None where it does."""
    try:
        importlib.import_module(name)
    except BaseException as error:  # some modules end the process where something is missing
        return f"{type(error).__name__}: {error}"
    return None


def main(report: str, *folders: str) -> None:
    """Writes the report."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = {program.__name__: (names, *run(program)) for program, names in PROGRAMS.items()}
    names = [name for folder in folders for name in modules(Path(folder))]
    torch.save({"programs": found, "failures": {name: failure(name) for name in names}}, report)


if __name__ == "__main__":
    main(*sys.argv[1:])
