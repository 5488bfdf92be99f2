"""What is found in the parents of public commits that adapt to eager initialization, nccl2 and torchcomms.

Each program is what the commit changes, reduced to its form and written anew. Where a commit cures a hang and nothing is
found, the row says why that cannot be seen, or why torch 2.15 has nothing to do with it.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.support import check_text


class Parent(NamedTuple):
    """A program as it was before a commit."""

    commit: str
    """``owner/repository@commit``, or ``#`` and the number of a pull request."""
    program: str
    found: str = ""
    """The findings, by code and severity."""
    cures: bool = False
    """Whether the commit cures a hang, or an operation that waits for others."""
    unseen: str = ""
    """Why nothing is found though it does."""


OWN_LISTS = (
    "each rank hands a list of its own, in one call that all make: the store's keys clash before torch 2.15, whose split "
    "tells the lists apart"
)

PARENTS = [
    # The default group is given its device, or is no longer.
    Parent(
        "deepspeedai/DeepSpeed@ee286e53c",
        "dist.init_process_group(b, timeout=t, rank=r, world_size=n)",
        "TC401 info",
    ),
    Parent(
        "deepspeedai/DeepSpeed@08879a391",
        """
def start(backend, device):
    kwargs = dict(timeout=1, rank=0, world_size=4)
    if "device_id" in inspect.signature(dist.init_process_group).parameters:
        kwargs.update(device_id=device)
    dist.init_process_group(backend, **kwargs)
""",
    ),
    Parent(
        "deepspeedai/DeepSpeed@33cd94500",
        """
def start(backend, accelerator):
    kwargs = {}
    kwargs.update(device_id=accelerator.device(0))
    dist.init_process_group(backend, **kwargs)
""",
    ),
    Parent(
        "PrimeIntellect-ai/prime-rl@491d89182",
        """
def start(local_rank, enable_gloo):
    torch.cuda.set_device(local_rank)
    backend = None
    if enable_gloo:
        backend = "cpu:gloo,cuda:nccl"
    dist.init_process_group(backend=backend, timeout=1)
""",
        "TC401 info",
    ),
    Parent(
        "xdit-project/xDiT@1a5d3dc",
        """
def start(backend, method, world_size, rank, count):
    dist.init_process_group(backend=backend, init_method=method, world_size=world_size, rank=rank)
    set_device(dist.get_rank() % count())
""",
        "TC401 info",
    ),
    Parent(
        "THUDM/slime@56b0b130d",
        'dist.init_process_group(backend="nccl")\ntorch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())',
        "TC401 info",
    ),
    Parent("NVIDIA-NeMo/RL@48d13ec69", 'dist.init_process_group("nccl")', "TC401 info"),
    Parent(
        "NVIDIA-NeMo/RL@ca6b92f63",
        'dist.init_process_group("nccl", device_id=torch.device(f"cuda:{local_rank}"))',
    ),
    Parent(
        "ModelTC/lightllm@1a52796c",
        """
class Backend:
    def start(self, port):
        dist.init_process_group("nccl", init_method=f"tcp://localhost:{port}", rank=self.tp_rank, world_size=self.size)
""",
        "TC401 info",
    ),
    Parent("allenai/open-instruct@e8db3e7b4", "deepspeed.init_distributed(timeout=1)"),
    Parent(
        "allenai/open-instruct@33d9f4b10",
        'dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))\ndeepspeed.init_distributed()',
    ),
    Parent(
        "xdit-project/xDiT@dc2e7dc",
        """
def start(backend, partition, device):
    dist.init_process_group(backend=backend, device_id=device)
    return [dist.new_group(ranks) for ranks in partition]
""",
        cures=True,
        unseen="every rank makes every group; the error came of NCCL's start under `device_id`, not of ranks that are missing",
    ),
    Parent(
        "huggingface/trl@1f7db08e6",
        "def before_generation(peft):\n    if peft:\n        dist.barrier()",
        cures=True,
        unseen="a barrier takes the device of the group, which torch 2.15 binds; what raced was vLLM's own communicator",
    ),
    # Groups beside the default group.
    Parent(
        "NVIDIA-NeMo/RL#3189",
        """
dist.init_process_group("nccl")
def join(store, rank, size, name, timeout):
    group, _ = dist.distributed_c10d._new_process_group_helper(
        size, rank, [], dist.Backend("nccl"), store, group_name=name, timeout=timeout
    )
    return group
""",
        "TC401 info, TC410 error",
        cures=True,
    ),
    Parent(
        "huggingface/picotron@7ba1383",
        """
class Grid:
    def __init__(self, grid):
        rank = dist.get_rank()
        self.row, self.column = divmod(rank, grid.shape[1])
        self.rows = dist.new_group(grid[self.row].tolist())
        self.columns = dist.new_group(grid[:, self.column].tolist())
""",
        cures=True,
        unseen=OWN_LISTS,
    ),
    Parent(
        "ModelTC/lightllm@c843243e",
        """
def group(size):
    first = dist.get_rank() // size * size
    return dist.new_group([first + index for index in range(size)], backend="nccl")
""",
        cures=True,
        unseen=OWN_LISTS,
    ),
    Parent(
        "feifeibear/long-context-attention@168acc6",
        """
def groups(degree):
    rank, size = dist.get_rank(), dist.get_world_size()
    ring_ranks = [peer for peer in range(size) if peer % degree == rank % degree]
    return dist.new_group(ranks=ring_ranks)
""",
        cures=True,
        unseen=OWN_LISTS,
    ),
    Parent(
        "NVIDIA/TransformerEngine@fa4b866d5",
        """
def node_group(world_group, hostname):
    names = [None] * dist.get_world_size(world_group)
    dist.all_gather_object(names, hostname, world_group)
    ranks = [index for index, name in enumerate(names) if name == hostname]
    return dist.new_group(ranks=ranks)
""",
        cures=True,
        unseen=OWN_LISTS,
    ),
    Parent(
        "facebookresearch/fairseq2@ccc6d60ac",
        "def gang(ranks):\n    group = dist.new_group(ranks, backend=dist.get_backend())\n    if group is None:\n        return None",
        cures=True,
        unseen="outside of the group `new_group` returns a constant and not None, in every version",
    ),
    Parent(
        "modelscope/ms-swift@717c284f4",
        """
def rollout_group(count, size):
    rank = dist.get_rank()
    for index in range(count):
        ranks = list(range(index * size, index * size + size))
        group = dist.new_group(ranks=ranks)
        if rank in ranks:
            mine = group
    return mine
""",
    ),
    Parent("InternLM/xtuner@ed797ddf6", "def save(state):\n    return dcp.async_save(state)"),
    # Operations that must overlap, or do not.
    Parent(
        "xdit-project/xDiT@866794e",
        """
class Manager:
    def __init__(self, config):
        self.next_rank = (config.rank + 1) % config.world_size
        self.prev_rank = (config.rank - 1 + config.world_size) % config.world_size
        self.send_req = self.recv_req = None
        self.queue, self.buffers = [], []

    def send_to_next(self, tensor):
        self.send_req = dist.isend(tensor, dst=self.next_rank)

    def _post(self):
        if self.recv_req is None and len(self.queue) > 0:
            self.queue.pop(0)
            self.recv_req = dist.irecv(self.buffers[-1], src=self.prev_rank)

    def receive_from_prev(self, index=None):
        self.queue.append(index)
        self._post()

    def data(self):
        if self.recv_req is not None:
            self.recv_req.wait()
            self.recv_req = None
            self._post()
""",
        "TC404 warning",
        cures=True,
    ),
    Parent(
        "xdit-project/xDiT@d3b235e",
        """
def step(patches, times):
    for index, time in enumerate(times):
        for place in range(len(patches)):
            if time:
                get_pp_group().get_pipeline_recv_data(idx=place)
            get_pp_group().recv_next()
            patches[place] = model(patches[place])
            get_pp_group().pipeline_isend(patches[place])
""",
        cures=True,
        unseen="the operations are in another file, and the order of its methods in a model's loop",
    ),
    Parent(
        "hpcaitech/ColossalAI@d799a3088",
        """
def communicate(item, destination, source, group):
    if destination is not None and source is not None:
        communicate(item, destination, None, group)
        return communicate(None, None, source, group)
    operations = []
    if destination is not None:
        operations.append(dist.P2POp(dist.isend, item, destination, group))
    if source is not None:
        operations.append(dist.P2POp(dist.irecv, torch.empty(1), source, group))
    for request in dist.batch_isend_irecv(operations):
        request.wait()
""",
        cures=True,
        unseen="who sends first is the schedule's, in another file, and batches of one direction wait in every version",
    ),
    Parent(
        "hpcaitech/ColossalAI@26ba87272",
        "def fill(item, operation, peer, queue):\n    queue.append(dist.P2POp(operation, item, peer))",
        cures=True,
        unseen="a tensor was left out of the message, so that the receiver waited for it, in every version",
    ),
    Parent(
        "meta-pytorch/torchrec#4472",
        """
def exchange(mine, theirs, peer):
    requests = [dist.isend(mine, peer), dist.irecv(theirs, peer)]
    for request in requests:
        request.wait()
""",
        "TC406 warning",
        cures=True,
    ),
    Parent(
        "pytorch/PiPPy@d453814a",
        """
class Stage:
    def give(self, value, caller):
        dist.isend(value, caller)

    def take(self, buffer, callee):
        work = dist.irecv(buffer, callee)
        work.wait()
""",
        cures=True,
        unseen="threads decide the order of the operations",
    ),
    Parent(
        "pytorch/PiPPy@67119365",
        """
def forward(receives, sends):
    if receives:
        dist.batch_isend_irecv(receives)
    if sends:
        dist.batch_isend_irecv(sends)
""",
        cures=True,
        unseen="batches over skip connections wait for peers whose operations come later, in every version",
    ),
    Parent(
        "pytorch/pytorch#175712",
        "def batch(operations):\n    return dist.batch_isend_irecv(operations) if operations else []",
    ),
    Parent(
        "NVIDIA/Megatron-LM#5240",
        """
def exchange(previous, following, rank, size, group):
    if rank % 2 == 0:
        requests = [dist.isend(following, (rank + 1) % size, group), dist.irecv(previous, (rank - 1) % size, group)]
    else:
        requests = [dist.irecv(previous, (rank - 1) % size, group), dist.isend(following, (rank + 1) % size, group)]
    return requests
""",
        "TC405 warning",
        cures=True,
    ),
]

HEAD = "import inspect\nimport torch\nimport torch.distributed as dist\n"


@pytest.mark.parametrize("parent", PARENTS, ids=lambda parent: parent.commit)
def test_what_is_found_in_the_parent(parent: Parent) -> None:
    found = check_text(HEAD + parent.program + "\n", "--select", "PG,TC4", "--ignore", "TC403")
    assert ", ".join(f"{one.code} {one.severity.value}" for one in found) == parent.found
    assert bool(parent.unseen) is (parent.cures and not parent.found)
