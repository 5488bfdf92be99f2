"""Example inputs of models that packages make: they say themselves which images they take.

torchvision's classifiers and segmenters take images of three channels of any size from 32 on ("resize_size" and "crop_size" 224
in their weights); the models of timm keep what they take in ``default_cfg``.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchmigrate.project.project_definitions import find_imported_name
from torchmigrate.rewrite.changes import template

from .made_inputs import MadeInputs, make_inputs
from .module_classes import find_making_call, spell_import
from .module_factories import find_makers, index_source

if TYPE_CHECKING:
    from .result_chain import ResultChain

_IMAGE = re.compile(
    r"torchvision\.models\.(segmentation\.)?(alexnet|convnext|deeplab|densenet|efficientnet|fcn|googlenet|lraspp|mnasnet"
    r"|mobilenet|regnet|resne|shufflenet|squeezenet|vgg|wide_resnet|get_model)\w*"
)
_LIBRARY = re.compile(r"torchvision\.|timm\.")
_TIMM = re.compile(r"timm(\.models)?\.create_model")


def find_library_inputs(model: ast.expr, chain: ResultChain) -> MadeInputs | None:
    """Return inputs that fit a model of torchvision or timm; None for any other."""
    made = find_making_call(model, chain.use, chain.ctx)
    names = [spell_import(made.func, chain.use, chain.ctx)] if made is not None else []
    file = index_source(chain.ctx)
    if made is not None and file is not None and not any(map(_LIBRARY.match, filter(None, names))):
        makers = find_makers(made, file, chain.ctx) or ()
        names = [find_imported_name(one.func, where, chain.ctx.project) for one, where in makers]
    if not names or None in names:
        return None
    if all(_IMAGE.fullmatch(name or "") for name in names):
        return make_inputs(
            [((2, 3, 224, 224), "float32")], model, "the example inputs are images of torchvision", chain
        )
    if all(_TIMM.fullmatch(name or "") for name in names) and isinstance(model, (ast.Name, ast.Attribute)):
        zeros = chain.ctx.write_symbol("torch.zeros", chain.use)
        dim = chain.ctx.write_symbol("torch.export.Dim", chain.use)
        sizes = template('({zeros}(2, *{model}.default_cfg["input_size"]),)', zeros=zeros, model=model)
        origin = "the example inputs have the size that timm's `default_cfg` names"
        return MadeInputs(sizes, template("([{dim}.AUTO] * 4,)", dim=dim), origin)
    return None
