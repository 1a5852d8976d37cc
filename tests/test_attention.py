"""Attention: the reference against PyTorch, the error allowed, and what the hypotheses name.

Arithmetic is simulated in NumPy, so that the bound is tested apart from any kernel.
"""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from autograder import diagnosis
from autograder.course import ROOT
from autograder.formats import rounded
from autograder.steps import memory
from autograder.steps.attention import flash_attention
from autograder.steps.attention_reference import Problem, attend, causal_mask, repeat

SEEDS = range(20)
LOG2_E = np.float32(1.4426950408889634)


def battery(seed):
    return flash_attention.cases(np.random.default_rng(seed))


def the_case(name, seed=0):
    return next(c for c in battery(seed) if c.name == name)


def options(case):
    return case.size.get("causal", False), case.size.get("scale")


# --- the reference ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_agrees_with_pytorch(seed):
    for case in battery(seed):
        q, k, v = (torch.from_numpy(o.values).double() for o in case.operands)
        causal, scale = options(case)
        nq, nk = q.shape[2], k.shape[2]
        mask = torch.ones(nq, nk, dtype=torch.bool)
        mask = mask.tril(nk - nq) if causal else mask
        answer = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, mask, scale=scale, enable_gqa=True
        )
        answer = torch.where(mask.any(dim=1)[:, None], answer, 0.0)
        assert np.allclose(case.expected, answer.numpy(), rtol=1e-9, atol=1e-12), case.name


def test_the_reference_written_out_for_one_query():
    case = the_case("grouped heads, causal")
    q, k, v = (o.values.astype(np.float64) for o in case.operands)
    batch, head, query = 1, 3, 4  # of 2, 4 and 17; two query heads share a key head
    keys = range(query + k.shape[2] - q.shape[2] + 1)
    scores = [q[batch, head, query] @ k[batch, 1, j] / 4 for j in keys]  # D = 16
    powers = np.exp(scores)
    mean = sum(p * v[batch, 1, j] for p, j in zip(powers, keys)) / powers.sum()
    assert np.allclose(case.expected[batch, head, query], mean)


def test_the_last_query_sees_every_key():
    assert causal_mask(2, 4).tolist() == [[True, True, True, False], [True] * 4]
    assert causal_mask(3, 1).tolist() == [[False], [False], [True]]


def test_queries_without_keys_give_zeros():
    for name in ("causal, more queries", "causal, 24 queries more", "causal, 32 queries more"):
        case = the_case(name)
        empty = case.size["Nq"] - case.size["Nk"]
        assert not case.expected[:, :, :empty].any()
        assert case.expected[:, :, empty:].all()
    q, none = np.ones((1, 1, 3, 16)), np.ones((1, 1, 0, 16))
    assert not attend(Problem(q, none, none, np.ones((3, 0), bool), 1.0)).any()


def test_neighbouring_query_heads_share_a_key_head():
    x = np.arange(2.0).reshape(1, 2, 1, 1)
    assert repeat(x, 6).reshape(-1).tolist() == [0, 0, 0, 1, 1, 1]


# --- the battery ------------------------------------------------------------------------------


def test_options_are_passed_by_keyword_and_by_position():
    cases = battery(0)
    assert any(c.named == {"causal": True} for c in cases)
    assert any(c.more and c.more[0] is True and -1 < c.more[1] < 0 for c in cases)
    assert any(set(c.named) == {"scale"} for c in cases)
    first = cases[0]
    assert (first.more, first.named) == ((), {})


def test_the_battery_covers_what_the_contract_promises():
    sizes = [c.size for c in battery(0)]
    assert {s["D"] for s in sizes} == {16, 32, 64, 128}
    assert {s["dtype"] for s in sizes} == {"float16", "bfloat16", "float32"}
    assert any(s["Nk"] == 0 for s in sizes)
    assert any(s["Nq"] > s["Nk"] and (s["Nq"] - s["Nk"]) % 16 for s in sizes if "causal" in s)
    assert any(s["B"] != s["H"] and s["B"] > 1 for s in sizes)
    assert any(s.get("Hkv") not in (None, 1, s["H"] / s.get("Hkv", 1)) for s in sizes)
    for tensor in "qkv":
        assert any(tensor in s for s in sizes), tensor


def test_sizes_are_drawn_anew():
    assert [c.size for c in battery(0)] != [c.size for c in battery(1)]


# --- the error allowed ------------------------------------------------------------------------


def compute(
    case,
    tile=32,
    backwards=False,
    base_2=True,
    round_weights=True,
    query_scaled_first=False,
    sums=np.float32,
    accumulator=np.float32,
    scores=np.float32,
):
    """Flash attention as a kernel does it, in fp32, block of keys by block of keys."""
    causal, scale = options(case)
    problem = Problem.of(case.operands, causal, scale)
    kind = case.dtype
    q, k, v = (x.astype(np.float32) for x in (problem.q, problem.k, problem.v))
    factor = np.float32(problem.scale) * (LOG2_E if base_2 else np.float32(1))
    power = np.exp2 if base_2 else np.exp
    if query_scaled_first:
        q, factor = rounded(q * factor, kind).astype(np.float32), np.float32(1)
    m = np.full((*q.shape[:3], 1), -np.inf, np.float32)
    total, acc = np.zeros(m.shape, sums), np.zeros(q.shape, accumulator)
    blocks = [slice(i, i + tile) for i in range(0, k.shape[2], tile)]
    for block in reversed(blocks) if backwards else blocks:
        s = (q @ k[:, :, block].swapaxes(2, 3)) * factor
        s = np.where(problem.seen[:, block], s, np.float32(-np.inf)).astype(scores)
        new = np.maximum(m, s.astype(np.float32).max(axis=3, keepdims=True))
        base = np.where(np.isneginf(new), np.float32(0), new)
        p = power(s.astype(np.float32) - base)
        shrink = power(m - base)
        total = (total * shrink + p.sum(axis=3, keepdims=True)).astype(sums)
        p = rounded(p, kind).astype(np.float32) if round_weights else p
        acc = (acc * shrink + p @ v[:, :, block]).astype(accumulator)
        m = new
    return acc / np.where(total == 0, 1, total).astype(np.float32)


def outside(case, result) -> int:
    error = np.abs(rounded(result, case.dtype).astype(np.float64) - case.expected)
    return int((~(error <= case.bound)).sum())


@pytest.mark.parametrize(
    "style",
    [
        {"tile": 16},
        {"tile": 32, "base_2": False},
        {"tile": 64, "backwards": True},
        {"tile": 128, "round_weights": False},
        {"tile": 16, "backwards": True, "base_2": False},
        {"tile": 64, "query_scaled_first": True},
    ],
    ids=str,
)
def test_right_arithmetic_is_inside(style):
    for seed in SEEDS:
        for case in battery(seed):
            assert outside(case, compute(case, **style)) == 0, (seed, case.name)


@pytest.mark.parametrize("tile", [32, 64])
@pytest.mark.parametrize("lost", ["accumulator", "sums"])
def test_sums_in_fp16_are_outside_on_many_keys(lost, tile):
    for seed in SEEDS:
        case = the_case("many keys", seed)
        assert outside(case, compute(case, tile, **{lost: np.float16})) > 0, seed


@pytest.mark.parametrize("lost", ["accumulator", "sums", "scores"])
def test_anything_in_fp16_is_outside_for_float32(lost):
    for seed in SEEDS:
        for name in ("float32", "float32, causal"):
            case = the_case(name, seed)
            assert outside(case, compute(case, **{lost: np.float16})) > 0, (seed, name)


def test_scores_in_fp16_are_outside_far_from_zero():
    for seed in SEEDS:
        for name in ("scores far above zero", "scores far below zero"):
            case = the_case(name, seed)
            assert outside(case, compute(case, scores=np.float16)) > 0, (seed, name)


# --- the hypotheses ---------------------------------------------------------------------------


def told(case, answer, tiles=frozenset({32})):
    """The causes whose computed answer equals this one."""
    with np.errstate(all="ignore"):
        return [
            cause
            for cause, wrong in flash_attention.hypotheses(case, set(tiles))
            if np.allclose(wrong, answer, rtol=1e-4, atol=1e-4, equal_nan=True)
        ]


def problem_of(case):
    return Problem.of(case.operands, *options(case))


def wrong_answers():
    """(id, case, answer, cause): mistakes computed here in the plainest way."""
    case = the_case("whole tiles")
    p = problem_of(case)
    yield "unscaled", case, attend(p.but(scale=1.0)), "scale_wrong"
    yield "by_d", case, attend(p.but(scale=1 / 64)), "scale_wrong"
    case = the_case("scale given")
    yield "default_scale", case, attend(problem_of(case).but(scale=1 / 8)), "scale_wrong"
    case = the_case("causal, fewer queries")
    p = problem_of(case)
    nq, nk = p.seen.shape
    top_left = np.tril(np.ones((nq, nk), bool))
    yield "top_left", case, attend(p.but(seen=top_left)), "causal_alignment"
    strict = np.tril(np.ones((nq, nk), bool), nk - nq - 1)
    yield "strict", case, attend(p.but(seen=strict)), "causal_mask_wrong"
    yield "no_mask", case, attend(p.but(seen=p.seen | True)), "causal_mask_wrong"
    case = the_case("fewer keys than a tile")
    p = problem_of(case)
    more = ((0, 0), (0, 0), (0, 32 - case.size["Nk"]), (0, 0))
    padded = p.but(k=np.pad(p.k, more), v=np.pad(p.v, more), seen=np.ones((32, 32), bool))
    yield "padded_keys", case, attend(padded), "padded_keys_counted"
    case = the_case("ragged Nk")
    p = problem_of(case)
    cut = p.but(seen=p.seen & (np.arange(case.size["Nk"]) < case.size["Nk"] // 32 * 32))
    yield "tail", case, attend(cut), "tail_dropped"
    case = the_case("grouped heads")
    p = problem_of(case)
    k, v = (np.tile(o.values.astype(float), (1, 3, 1, 1)) for o in case.operands[1:])
    yield "modulo", case, attend(p.but(k=k, v=v)), "gqa_mapping"
    case = the_case("batches and heads")
    p = problem_of(case)
    yield "head_0", case, attend(p.but(k=p.k[:, [0, 0, 0]])), "head_or_batch_offset"
    case = the_case("causal, 24 queries more")
    nan = np.where(np.arange(44)[:, None] < 24, np.nan, case.expected)
    yield "nan", case, nan, "empty_row"
    case = the_case("scores about -20000, causal")
    p = problem_of(case)
    filled = np.where(p.seen, p.scores(), -1e4)
    filled = np.exp(filled - filled.max(axis=3, keepdims=True))
    answer = filled / filled.sum(axis=3, keepdims=True) @ p.v
    yield "minus_10000", case, answer, "finite_mask_value"


@pytest.mark.parametrize(
    ("case", "answer", "cause"), [pytest.param(*row[1:], id=row[0]) for row in wrong_answers()]
)
def test_a_mistake_is_named(case, answer, cause):
    causes = told(case, answer)
    assert causes and causes[0] == cause, causes


def test_no_rescale_is_named_for_the_tile_that_was_used():
    case = the_case("whole tiles")
    p = problem_of(case)
    scores = p.masked()
    m = np.maximum.accumulate(scores.reshape(*scores.shape[:3], 4, 32).max(axis=4), axis=3)
    unit = np.repeat(m, 32, axis=3)  # each block in the unit of its own time
    powers = np.exp(scores - unit)
    answer = powers @ p.v / powers.sum(axis=3, keepdims=True)
    assert "rescale_missing" in told(case, answer)
    assert told(case, answer, {64}) == []


def test_every_hypothesis_has_the_answers_shape_and_none_is_right():
    for case in battery(0):
        if case.focus == "int64":  # too large to lay out
            continue
        with np.errstate(all="ignore"):
            for cause, wrong in flash_attention.hypotheses(case, {16, 64}):
                assert wrong.shape == case.shape, (case.name, cause)


@pytest.mark.parametrize(
    ("focuses", "cause"),
    [
        ({"far below"}, "finite_mask_value"),
        ({"below", "far below"}, "running_max_wrong"),
        ({"large"}, "running_max_wrong"),
        ({"large", "below", "far below"}, "max_not_subtracted"),
        ({"large", "N"}, ""),
    ],
)
def test_the_extreme_cases_that_fail_tell_the_cause(focuses, cause):
    cases = [c for c in battery(0) if c.focus in focuses]
    assert {c.focus for c in cases} == focuses
    nan, wrong = np.full(2, np.nan), np.ones(2, bool)  # as powers that overflow leave behind
    failed = [SimpleNamespace(case=c, actual=nan, wrong=wrong) for c in cases]
    assert diagnosis._only_extreme_scores(failed, failed, None) == cause


def test_strides_exchanged_within_a_block_of_keys_are_named():
    case = the_case("whole tiles")
    p, (_, k, _) = problem_of(case), case.operands
    memory_of_k = np.append(k.values.astype(np.float64).ravel(), np.full(128 * 64, np.nan))
    heads, keys, d = np.ogrid[:2, :128, :64]
    misread = memory_of_k[heads * 128 * 64 + keys // 32 * 32 * 64 + keys % 32 + d * 64]
    answer = attend(p.but(k=misread[None]))
    assert np.isfinite(answer[0, 0]).all()  # the first head reads on into the second
    assert "strides_swapped" in told(case, answer)
    one_key_on = memory.read(k, memory.strides_of(k), first=64)
    assert np.array_equal(one_key_on[0, 0, :-1], k.values[0, 0, 1:])


# --- the whole way ----------------------------------------------------------------------------

OPTIONS_SEEN = """
import torch
import triton
import triton.language as tl


def flash_attention(q, k, v, causal=False, scale=None):
    raise ValueError(f"causal={causal!r} scale={scale!r}")
"""


def test_the_function_receives_its_options(grade_source):
    result = grade_source(OPTIONS_SEEN, "flash_attention")
    messages = {c.name: c.message for c in result.checks}
    assert "causal=False scale=None" in messages["whole tiles"]
    assert "causal=True scale=None" in messages["causal"]
    assert "causal=True scale=-0." in messages["causal and negative scale by position"]
    assert "causal=False scale=0." in messages["scale given"]


def test_the_kernel_for_hopper_is_right_too(grade_source):
    """Where its descriptors allow it, it takes every call here, in the interpreter."""
    source = (ROOT / "solutions" / "12_flash_attention.py").read_text()
    condition = 'return target_of(q) == ("cuda", 90) and large and whole and scale >= 0'
    assert source.count(condition) == 1
    whole = source.replace(condition, "return whole and min(q.numel(), k.numel()) > 0")
    result = grade_source(whole, "flash_attention")
    wrong = [
        c for c in result.checks if c.kind in ("correctness", "memory") and c.status != "passed"
    ]
    assert not wrong, [(c.name, c.message) for c in wrong]
    # It did take most of them: without it, they fail.
    gone = whole.replace(
        "    from triton.tools.tensor_descriptor", "    raise OSError\n    from triton"
    )
    result = grade_source(gone, "flash_attention")
    assert sum(c.status == "error" for c in result.checks if c.kind == "correctness") >= 20
