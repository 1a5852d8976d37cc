"""benchmarks/attention_backward_variants.py: its kernels are right, and it records those that are not."""

import json
import os
import subprocess
import sys

import pytest

from autograder import course

BENCHMARKS = course.ROOT / "benchmarks"
# Triton decides at its import whether it interprets: hence a process of its own.
PRELUDE = f"""
import json, sys
sys.path.insert(0, {str(BENCHMARKS)!r})
import torch
import attention_backward_variants as bench
from backward_variants import variants


def examine(chosen, causal):
    torch.manual_seed(0)
    given, _ = bench.given_for(*torch.randn(4, 1, 2, 256, 64).half(), causal)
    exact = {{end: bench.exact_parts(given, end) for end in bench.ENDS}}
    return [{{"name": v.name, **bench.examined(v, given, exact)}} for v in chosen]
"""


def interpreted(code: str):
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code], env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("causal", [False, True])
def test_every_kernel_is_right(causal):
    """One variant of each family. The interpreter has no sums by the copy engine: those run on a
    GPU only, where the benchmark checks them."""
    rows = interpreted(f"""
families = {{}}
for v in variants(64):
    if v.more.get("dq") not in ("copy engine", "turned"):
        families.setdefault((v.part, v.kind, str(v.more)), v)
print(json.dumps(examine(families.values(), {causal})))
""")
    assert len(rows) == 9
    assert all(row["status"] == "right" for row in rows), rows


def test_a_wrong_variant_and_one_that_does_not_start_are_recorded():
    def broken(change):
        return f"""
from dataclasses import replace
right = next(v for v in variants(64) if v.part == "queries")
def launch(given, *a, **k):
    (dq,), made = right.launch(given, *a, **k)
    {change}
    return (dq,), made
print(json.dumps(examine([replace(right, launch=launch)], False)))
"""

    (row,) = interpreted(broken("dq[-1, -1, -1] *= 1.5"))
    assert row["status"] == "wrong" and row["relative_error"]["dq"] > 0.01
    (row,) = interpreted(broken("raise ValueError('too much\\nshared memory')"))
    assert (row["status"], row["message"]) == ("failed", "ValueError: too much")


def test_a_chain_is_made_of_what_is_fastest_with_and_without_a_mask():
    names = interpreted("""
def row(v, causal, ms):
    return {"D": 64, "causal": causal, "part": v.part, "kind": v.kind, "variant": v.name} | (
        {"ms": ms} if ms else {"status": "wrong"})


rows = []
for part in ("forward", "keys", "queries"):
    one, other, third, *_ = (v for v in variants(64) if (v.part, v.kind) == (part, "pointers"))
    rows += [row(one, False, 1.0), row(one, True, 9.0), row(other, False, 2.0), row(other, True, 3.0)]
    rows += [row(third, False, 0.1), row(third, True, None)]
chosen = bench.chains(rows, 64)
print(json.dumps([list(chosen), [v.name for v in chosen["pointers, other tiles"]],
                  [[v for v in variants(64) if v.part == p][1].name for p in ("forward", "keys", "queries")]]))
""")
    chains, chosen, second = names
    assert chains == ["pointers, other tiles"]
    assert chosen == second
