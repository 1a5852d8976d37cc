"""The border: whatever bytes a run sends, the grader gets an account of known form or none."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.account import Account, Place, parse

GOOD = {
    "stage": "result",
    "result": {"type": "Tensor", "shape": [2, 3], "dtype": "float16", "contiguous": True, "alias": -1,
               "graph": True},
    "gradients": [{"type": "Tensor", "shape": [2, 3], "dtype": "float16", "contiguous": True,
                   "alias": -1, "graph": False}, {"type": "NoneType"}],
    "error": None,
    "refusal": {"what": "numpy", "used_as": "the result", "file": "/run/cell_01.py", "line": 3},
    "no_kernel": False,
    "overrun": False,
    "violations": [
        {"access": "load", "argument": "a", "shape": [2, 3], "program": [0, 0, 0], "bad_lanes": 1,
         "lanes": 64, "elements_off": 6, "file": "/run/cell_02.py", "line": 9}
    ],
    "unfilled": [{"file": None, "line": None}],
    "launches": [
        {"kernel": "k", "grid": [1, 1], "constexprs": {"BLOCK": 32}, "loads": ["a"], "stores": ["c"]}
    ],
    "races": [
        {"argument": "c", "kinds": ["store", "load"], "programs": [[0, 0, 0], [1, 0, 0]],
         "file": "/run/cell_02.py", "line": 11}
    ],
    "hints": [
        {"hint": "multiple_of", "promised": [16], "value": 3, "program": [0, 0, 0],
         "file": "/run/cell_02.py", "line": 12}
    ],
    "tuners": [{"kernel": "k", "configs": 2, "prunes": False, "measured": True, "chosen": "BLOCK=32"}],
    "loaded": 4096,
    "stored": 2048,
}  # fmt: skip


def encode(value) -> bytes:
    return json.dumps(value).encode()


def test_a_good_account_is_read():
    account = parse(encode(GOOD), "/run")
    assert account.result.shape == (2, 3)
    assert account.result.graph
    assert [gradient.type for gradient in account.gradients] == ["Tensor", "NoneType"]
    assert account.refusal.place == Place("cell_01.py", 3)
    assert account.violations[0].place == Place("cell_02.py", 9)
    assert account.unfilled == (Place(),)
    assert account.launches[0].constexprs == {"BLOCK": 32}
    assert account.no_kernel is False
    assert account.races[0].programs == ((0, 0, 0), (1, 0, 0))
    assert account.hints[0].place == Place("cell_02.py", 12)
    assert account.tuners[0].configs == 2
    assert (account.loaded, account.stored) == (4096, 2048)


def test_a_place_outside_the_run_is_nobodys_line():
    assert parse(encode(GOOD), "/elsewhere").violations[0].place == Place()


@pytest.mark.parametrize("data", [b"", b"passed", b"[]", b"{}", b"\xff\x00", b"[" * 100_000, b"7"])
def test_rubbish_is_no_account(data):
    assert parse(data, "/run") is None


@pytest.mark.parametrize(
    "field",
    [
        "stage",
        "no_kernel",
        "overrun",
        "violations",
        "unfilled",
        "launches",
        "races",
        "hints",
        "tuners",
        "loaded",
    ],
)
def test_a_missing_field_is_no_account(field):
    assert parse(encode({k: v for k, v in GOOD.items() if k != field}), "/run") is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(GOOD)), json_values)
def test_a_field_of_any_other_form_never_raises(field, value):
    account = parse(encode({**GOOD, field: value}), "/run")
    assert account is None or isinstance(account, Account)
