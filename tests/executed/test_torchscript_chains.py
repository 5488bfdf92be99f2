"""Chains of a save and a load as programs write them: what the fixed program saves and loads gives the same.

Each is called with another number of rows than its example has, unless the model itself fixes that number.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.executed.torchscript import before_and_after, torch

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

COMMON = (Path(__file__).parent / "chain_models.py").read_text()
"""The models of the programs."""

LOAD = """

def read(folder, *inputs):
    model = torch.jit.load(f"{folder}/chain.pt")
    return model(*inputs), model(*inputs)
"""

CHAINS = {
    "traced, one row": (
        "torch.randn(5, 4)",
        """
def write(folder):
    model = Mlp().eval()
    traced = torch.jit.trace(model, torch.rand(1, 4))
    traced.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "traced and saved in one line": (
        "torch.randn(5, 4)",
        """
def write(folder):
    model = Mlp().eval()
    torch.jit.trace(model, torch.rand(1, 4)).save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "saved by the function": (
        "torch.randn(5, 4)",
        """
def write(folder):
    model = Mlp().eval()
    example = torch.rand(1, 4)
    script_module = torch.jit.trace(model, example)
    torch.jit.save(script_module, f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "names imported from torch": (
        "torch.randn(5, 4)",
        """
def write(folder):
    model = Mlp().eval()
    model = jit.trace(model, example_inputs=(torch.rand(4, 4),))
    jit.save(model, f"{folder}/chain.pt")


def read(folder, *inputs):
    model = jit.load(f"{folder}/chain.pt")
    return model(*inputs), model(*inputs)
""",
    ),
    "image of one row": (
        "torch.randn(3, 3, 10, 12)",
        """
def write(folder):
    model = Image()
    model.eval()
    example = torch.rand(1, 3, 8, 8)
    traced_script_module = torch.jit.trace(model, example)
    traced_script_module.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "checked after the trace": (
        "torch.randn(3, 3, 8, 8)",
        """
def write(folder):
    model = Image().eval()
    x = torch.randn(1, 3, 8, 8)
    traced = torch.jit.trace(model, x)
    assert torch.allclose(model(x), traced(x), atol=1e-5)
    traced.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "measured by a function with inputs of its own": (
        "torch.randn(5, 4)",
        """
@torch.no_grad()
def measure(net, rows):
    batch = torch.rand(rows, 4)
    batch = batch + 1
    return net(batch).sum()


def write(folder):
    model = Mlp().eval()
    traced = torch.jit.trace(model, torch.rand(1, 4))
    assert torch.isfinite(measure(model, 3) + measure(traced, 7))
    traced.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "example from numpy": (
        "torch.randn(5, 4)",
        """
def write(folder):
    model = Mlp().eval()
    tracer = torch.Tensor(np.ones((1, 4))).float()
    traced_net = torch.jit.trace(model, tracer)
    traced_net(tracer)
    traced_net.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "example from an array's shape": (
        "torch.randn(4, 1, 30)",
        """
def write(folder):
    model = Wave().eval()
    audio = torch.from_numpy(np.arange(24.0).reshape(1, 1, 24)).float()
    traced = torch.jit.trace(model, audio)
    traced.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "several inputs": (
        "(torch.randn(3, 3, 6, 6), torch.ones(3, 1, 6, 6))",
        """
def write(folder):
    model = Masked().eval()
    image, mask = torch.rand(1, 3, 8, 8), torch.rand(1, 1, 8, 8)
    traced = torch.jit.trace(model, (image, mask), strict=False)
    traced.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "several outputs": (
        "torch.randn(7, 5)",
        """
def write(folder):
    model = Heads().eval()
    planes = torch.ones(2, 5)
    traced = torch.jit.trace(model, planes, check_trace=False)
    traced.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "numbers of words": (
        "torch.randint(0, 20, (5, 9))",
        """
def write(folder):
    model = Words().eval()
    tokens = torch.randint(0, 20, (1, 7))
    traced = torch.jit.trace(model, tokens)
    traced.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "a path joined from parts": (
        "torch.randn(5, 4)",
        """
def write(folder):
    model = Mlp().eval()
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "chain.pt")
    traced = torch.jit.trace(model, torch.zeros(2, 4))
    traced.save(path)


def read(folder, *inputs):
    path = os.path.join(folder, "chain.pt")
    model = torch.jit.load(path, map_location="cpu")
    return model(*inputs), model(*inputs)
""",
    ),
    "a path object": (
        "torch.randn(5, 4)",
        """
def write(folder):
    traced = torch.jit.trace(Mlp().eval(), torch.zeros(2, 4))
    torch.jit.save(traced, Path(folder) / "chain.pt")


def read(folder, *inputs):
    model = torch.jit.load(Path(folder) / "chain.pt")
    return model(*inputs), model(*inputs)
""",
    ),
    "a name kept by the module": (
        "torch.randn(5, 4)",
        """
NAME = "chain.pt"


def write(folder):
    traced = torch.jit.trace(Mlp().eval(), torch.zeros(2, 4))
    traced.save(os.path.join(folder, NAME))


def read(folder, *inputs):
    model = torch.jit.load(os.path.join(folder, NAME))
    return model(*inputs), model(*inputs)
""",
    ),
    "another suffix": (
        "torch.randn(5, 4)",
        """
def write(folder):
    traced = torch.jit.trace(Mlp().eval(), torch.zeros(2, 4))
    traced.save(f"{folder}/chain.torchscript")


def read(folder, *inputs):
    model = torch.jit.load(f"{folder}/chain.torchscript")
    return model(*inputs), model(*inputs)
""",
    ),
    "eval after the load": (
        "torch.randn(3, 3, 8, 8)",
        """
def write(folder):
    traced = torch.jit.trace(Image().eval(), torch.rand(2, 3, 8, 8))
    traced.save(f"{folder}/chain.pt")


def read(folder, *inputs):
    model = torch.jit.load(f"{folder}/chain.pt")
    model.eval()
    return model(*inputs), model(*inputs)
""",
    ),
    "moved after the load": (
        "torch.randn(3, 3, 8, 8)",
        """
def write(folder):
    traced = torch.jit.trace(Image().eval(), torch.rand(2, 3, 8, 8))
    traced.save(f"{folder}/chain.pt")


def read(folder, *inputs, device="cpu"):
    model = torch.jit.load(f"{folder}/chain.pt", map_location=device).to(device).eval()
    return model(*inputs), model(*inputs)
""",
    ),
    "kept by an object": (
        "torch.randn(5, 4)",
        """
def write(folder):
    traced = torch.jit.trace(Mlp().eval(), torch.zeros(2, 4))
    traced.save(f"{folder}/chain.pt")


class Runner:
    def __init__(self, folder):
        self._net = torch.jit.load(f"{folder}/chain.pt")

    def __call__(self, observations):
        with torch.no_grad():
            return self._net(observations)


def read(folder, *inputs):
    model = Runner(folder)
    return model(*inputs), model(*inputs)
""",
    ),
    "frozen before the save": (
        "torch.randn(3, 3, 8, 8)",
        """
def write(folder):
    traced = torch.jit.trace(Image().eval(), torch.rand(2, 3, 8, 8))
    traced = torch.jit.freeze(traced)
    traced.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "without gradients": (
        "torch.randn(5, 4)",
        """
def write(folder):
    model = Mlp()
    model.eval()
    with torch.no_grad():
        traced = torch.jit.trace(model, torch.zeros(2, 4))
        traced.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "scripted, called before": (
        "torch.randn(5, 4)",
        """
def write(folder):
    model = Mlp().eval()
    data = torch.rand(2, 4)
    model(data)
    scripted = torch.jit.script(model)
    scripted.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "scripted, first layer": (
        "torch.randn(5, 4)",
        """
def write(folder):
    model = Mlp(4).eval()
    scripted = torch.jit.script(model)
    torch.jit.save(scripted, f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "scripted words": (
        "torch.randint(0, 20, (5, 9))",
        """
def write(folder):
    model = Words().eval()
    scripted = torch.jit.script(model)
    scripted.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "scripted wave": (
        "torch.randn(4, 1, 1500)",
        """
def write(folder):
    model = Wave().eval()
    model(torch.randn(2, 1, 64))
    scripted_model = torch.jit.script(model)
    scripted_model.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "actor of a policy": (
        "torch.randn(5, 7)",
        """
def write(folder):
    policy = ActorCritic(7, 3)
    path = os.path.join(folder, "chain.pt")
    model = copy.deepcopy(policy.actor).to("cpu")
    traced_script_module = torch.jit.script(model)
    traced_script_module.save(path)
"""
        + LOAD,
    ),
    "part of a model in eval mode": (
        "torch.randn(5, 7)",
        """
def write(folder):
    model = ActorCritic(7, 3)
    model.eval()
    script_module = torch.jit.script(model.actor)
    script_module.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "policy with its normalizer": (
        "torch.randn(5, 7)",
        """
def write(folder):
    exporter = Normalized(ActorCritic(7, 3), torch.full((7,), 0.5), torch.full((7,), 2.0))
    exporter.eval()
    observations = torch.zeros(1, 7)
    traced = torch.jit.trace(exporter, observations)
    traced.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "state in buffers": (
        "torch.randn(1, 5)",
        """
def write(folder):
    exporter = Memory(nn.LSTM(5, 6), nn.Linear(6, 2))
    exporter.to("cpu")
    traced_script_module = torch.jit.script(exporter)
    traced_script_module.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "a class that exports itself": (
        "torch.randn(5, 7)",
        """
class Exporter(nn.Module):
    def __init__(self, policy):
        super().__init__()
        self.actor = copy.deepcopy(policy.actor)

    def forward(self, x):
        return self.actor(x)

    def export(self, folder):
        self.eval()
        self.to("cpu")
        scripted = torch.jit.script(self)
        scripted.save(os.path.join(folder, "chain.pt"))


def write(folder):
    Exporter(ActorCritic(7, 3)).export(folder)
"""
        + LOAD,
    ),
    "a traced function": (
        "torch.randn(5, 4)",
        """
def scale(x):
    return F.normalize(x, dim=-1) * 2


def write(folder):
    traced = torch.jit.trace(scale, torch.rand(3, 4))
    traced.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "names that `format` and `%` complete": (
        "torch.randn(5, 4)",
        """
def write(folder):
    model = Mlp().eval()
    traced = torch.jit.trace(model, torch.rand(1, 4))
    traced.save("{}/chain.pt".format(folder))


def read(folder, *inputs):
    model = torch.jit.load("%s/chain.pt" % folder)
    return model(*inputs), model(*inputs)
""",
    ),
    **{
        f"scripted or traced into one variable: {choice}": (
            "torch.randn(5, 4)",
            f"""
def write(folder, uses_script={choice[0]}, freezes={choice[1]}):
    model = Mlp().eval()
    example = torch.rand(1, 4)
    if uses_script:
        exported = torch.jit.script(model)
    else:
        exported = torch.jit.trace(model, example)
    if freezes:
        exported = torch.jit.freeze(exported)
    exported.save(os.path.join(folder, "chain.pt"))
"""
            + LOAD,
        )
        for choice in ((True, True), (True, False), (False, True), (False, False))
    },
    **{
        f"saved in each branch: {is_small}": (
            f"torch.randn(5, {4 if is_small else 8})",
            f"""
def write(folder, is_small={is_small}):
    path = "{{}}/chain.pt".format(folder)
    if is_small:
        small = torch.jit.trace(Mlp().eval(), torch.rand(1, 4))
        small.save(path)
    else:
        large = torch.jit.trace(Mlp(8).eval(), torch.rand(1, 8))
        torch.jit.save(large, path)


def read(folder, *inputs):
    newest = max(Path(folder).glob("chain.pt*"))
    if newest.suffix == ".pt2":
        return torch.export.load(newest).module()(*inputs)
    return getattr(torch, "jit").load(newest)(*inputs)
""",
        )
        for is_small in (True, False)
    },
    **{
        f"inputs that a function of another library gives: {made}": (
            "torch.randn(5, 4)",
            f"""
def write(folder):
    model = Mlp().eval()
    traced = torch.jit.trace(model, getattr(torch, "rand")(3, 4){made})
    traced.save(f"{{folder}}/chain.pt")
"""
            + LOAD,
        )
        for made in (".clone()", ".split(3)")
    },
    "scripted where the trace fails": (
        "torch.randn(5, 4)",
        """
def write(folder):
    model = Mlp().eval()
    example = torch.rand(1, 4)
    try:
        module = torch.jit.trace(model, example)
    except RuntimeError:
        module = torch.jit.script(model)
    module.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "a part of a module in eval mode": (
        "torch.randn(5, 4)",
        """
def write(folder):
    whole = ActorCritic(4, 3)
    whole.eval()
    part = whole.actor
    scripted = torch.jit.script(part)
    x = torch.randn(1, 4)
    print((part(x) - scripted(x)).abs().max())
    scripted.save(f"{folder}/chain.pt")
"""
        + LOAD,
    ),
    "parameters loaded first": (
        "torch.randn(5, 4)",
        """
def write(folder):
    torch.save(Mlp().state_dict(), f"{folder}/weights.ckpt")
    model = Mlp()
    model.load_state_dict(torch.load(f"{folder}/weights.ckpt", map_location="cpu"))
    model.eval()
    dummy = torch.randn(1, 4)
    traced = torch.jit.trace(model, dummy)
    torch.jit.save(traced, f"{folder}/chain.pt")
"""
        + LOAD,
    ),
}
"""The inputs of the call of what is loaded, and a program that writes a file and reads it."""


@pytest.mark.parametrize("name", CHAINS)
def test_chain(name: str, tmp_path: Path) -> None:
    inputs, program = CHAINS[name]
    text = f"{COMMON}{program}\n\ndef make_inputs():\n    return {inputs}\n"

    def run(module: object) -> object:
        torch.manual_seed(0)
        module.write(str(tmp_path))  # type: ignore[attr-defined]
        torch.manual_seed(1)  # an example with another row takes more random numbers
        given = module.make_inputs()  # type: ignore[attr-defined]
        given = given if isinstance(given, tuple) else (given,)
        return module.read(str(tmp_path), *given)  # type: ignore[attr-defined]

    before, after, fixed = before_and_after(text, tmp_path, run)
    assert "jit." not in fixed
    torch.testing.assert_close(after, before)  # a frozen module has joined layers
