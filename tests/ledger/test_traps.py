"""What a naive ledger of torch's API gets wrong, in the real table. Each statement was read in wheels, or ran on torch."""

from __future__ import annotations

import ast

import pytest

from torchmigrate.model.torch_versions import NEWEST, OLDEST, Version
from torchmigrate.tables import api_ledger
from torchmigrate.tables.api_ledger import LedgerEntry, LedgerParameter
from torchmigrate.tables.release_sets import ALL_RELEASES, RELEASES, ReleaseSet


def known(name: str) -> LedgerEntry:
    entry = api_ledger.find_any_entry(name)
    assert entry, name
    return entry


def parameter(name: str, of: str) -> LedgerParameter:
    return next(one for one in known(of).parameters if one.name == name)


def since(version: Version) -> ReleaseSet:
    return ReleaseSet.from_range(version, NEWEST)


def until(version: Version) -> ReleaseSet:
    return ReleaseSet.from_range(OLDEST, version)


@pytest.mark.parametrize("name", ["all_gather_into_tensor", "reduce_scatter_tensor"])
def test_a_deprecation_can_be_taken_back(name: str) -> None:
    entry = known(f"torch.distributed.{name}")
    assert entry.present == ALL_RELEASES
    assert entry.find_marked_releases() == ReleaseSet.from_versions([(2, 13), (2, 14)])


@pytest.mark.parametrize("name", ["qr", "cholesky"])
def test_removed_functions_live_on_and_only_raise(name: str) -> None:
    entry = known(f"torch.{name}")
    assert entry.present == ALL_RELEASES
    assert entry.raises == since((2, 14))
    assert entry.usable_releases == until((2, 13))


@pytest.mark.parametrize("name", ["symeig", "lstsq", "solve", "eig", "matrix_rank"])
def test_hasattr_is_no_guard_for_what_only_raises(name: str) -> None:
    entry = known(f"torch.{name}")
    assert (entry.present, entry.raises) == (ALL_RELEASES, ALL_RELEASES)


def test_a_default_that_flips_without_a_change_of_signature() -> None:
    """`None` means False before 2.6 and True from it on; the table cannot know, and says what is written."""
    assert parameter("weights_only", of="torch.load").defaults == (
        (until((2, 3)), "False"),
        (since((2, 4)), "None"),
    )


def test_a_marker_in_a_constructor_concerns_instances() -> None:
    assert {mark.when for mark in known("torch.autograd.Function").marks} == {"init"}
    marks = known("torch.cuda.amp.autocast").marks
    assert {mark.when: str(mark.releases) for mark in marks} == {
        "init": "2.4 to 2.9",
        "class": "2.10 to 2.15",
    }


def test_an_alias_that_stays_is_not_lost() -> None:
    assert api_ledger.find_entry("torch.optim.lr_scheduler._LRScheduler") is None


@pytest.mark.parametrize("name", ["torch.norm", "torch.svd", "torch.ger"])
def test_what_only_its_documentation_deprecates_shows_nothing(name: str) -> None:
    entry = known(name)
    assert not entry.find_marked_releases()
    assert {mark.when for mark in entry.marks} == {"documentation"}


def test_a_user_warning_deprecates_too() -> None:
    entry = known("torch.nn.functional.upsample")
    assert {(mark.when, mark.category) for mark in entry.marks} == {("call", "UserWarning")}
    assert entry.find_marked_releases() == ALL_RELEASES


@pytest.mark.parametrize("name", ["script", "trace", "save", "load"])
def test_a_category_changes_with_the_release(name: str) -> None:
    """What TorchScript warns of is hidden by default in 2.10 to 2.13, and shown from 2.14 on."""
    found = {"DeprecationWarning": ReleaseSet(0), "FutureWarning": ReleaseSet(0)}
    for mark in known(f"torch.jit.{name}").marks:
        if mark.when == "call" and mark.text.startswith(f"`torch.jit.{name}` is deprecated"):
            found[mark.category] |= mark.releases
    assert found["DeprecationWarning"] == ReleaseSet.from_range((2, 10), (2, 13))
    assert found["FutureWarning"] == since((2, 14))


@pytest.mark.parametrize("name", ["torch.sum", "torch.mean", "torch.argmax", "torch.Tensor.sum"])
@pytest.mark.parametrize("spelling", ["axis", "keepdims"])
def test_keywords_that_stubs_do_not_have_are_not_lost(name: str, spelling: str) -> None:
    assert spelling not in [one.name for one in known(name).parameters]


@pytest.mark.parametrize(
    "name",
    [
        "torch.Storage",
        "torch.cuda.FloatTensor",
        "torch.npu.is_available",
        "torch.ops.aten.add",
        "torch.cuda.HalfTensor",
    ],
)
def test_what_is_made_at_run_time_is_not_lost(name: str) -> None:
    entry = api_ledger.find_entry(name)
    assert entry is None or entry.present == ALL_RELEASES


def test_what_getattr_of_a_module_serves_is_there_and_marked() -> None:
    entry = known("torch.has_cuda")
    assert entry.present == ALL_RELEASES
    assert entry.find_marked_releases() == since((2, 1))


def test_a_function_wins_over_a_submodule() -> None:
    assert known("torch.nn.utils.weight_norm").kind == "function"
    assert known("torch.nn.utils.weight_norm.WeightNorm").kind == "class"


def test_names_from_elsewhere_go_with_their_import() -> None:
    entry = known("torch.nn.modules.conv.Union")
    assert entry.level == "accidental"
    assert entry.present == until((2, 9))


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("torch.amp.GradScaler", (2, 3)),
        ("torch.amp.custom_fwd", (2, 4)),
        ("torch.compiler.is_compiling", (2, 3)),
    ],
)
def test_since_when_a_replacement_exists(name: str, first: Version) -> None:
    assert known(name).present == since(first)


def test_parameters_come_back() -> None:
    keyword = parameter("no_dist", of="torch.distributed.checkpoint.save").keyword
    assert not keyword & ReleaseSet.from_range((2, 3), (2, 6))
    assert keyword & ReleaseSet.from_range((2, 8), NEWEST) == since((2, 8))


def test_a_private_name_is_lost_only_where_it_is_gone() -> None:
    assert api_ledger.find_entry("torch._utils._flatten_dense_tensors") is None
    assert known("torch._dynamo.is_compiling").present == ALL_RELEASES


def test_every_statement_holds_for_releases_that_are_known() -> None:
    entries = list(api_ledger.read_entries())
    assert len(entries) > 10_000
    for entry in entries:
        assert entry.present
        assert not entry.raises - entry.present
        for mark in entry.marks:
            assert mark.releases
            assert not mark.releases - entry.present, entry
            assert not mark.releases - ALL_RELEASES
        for one in entry.parameters:
            assert not (one.keyword | one.positional) - entry.present, entry


def test_names_are_names() -> None:
    for entry in api_ledger.read_entries():
        assert all(part.isidentifier() for part in entry.name.split(".") if part), entry.name


def test_defaults_are_expressions() -> None:
    for entry in api_ledger.read_entries(private=False):
        for one in entry.parameters:
            for _, text in one.defaults:
                assert not text or ast.parse(text, mode="eval")


def test_the_table_is_of_all_releases() -> None:
    read = api_ledger.list_source_releases()
    assert [tuple(map(int, version.split(".")[:2])) for version in read] == list(RELEASES)
