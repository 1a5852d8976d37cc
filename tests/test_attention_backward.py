"""Attention's backward: exact gradients, the error allowed, what hypotheses name, and the engine.

Arithmetic is simulated in NumPy, so that the bounds are tested apart from any kernel.
"""

from pathlib import Path

import numpy as np
import pytest
import torch

from autograder import course
from autograder.arena import Arena
from autograder.formats import rounded
from autograder.steps.attention_backward import attention
from autograder.steps.attention_backward_mistakes import Backward
from autograder.steps.attention_delta import attention_delta
from autograder.steps.attention_reference import Problem, differentiate, gather, repeat
from autograder.steps.softmax_backward import softmax_backward
from autograder.submission import Cell, Submission
from autograder.verdict import Judge

SEEDS = range(5)
LOG2_E = np.float32(1.4426950408889634)
BATTERIES = {seed: attention.cases(np.random.default_rng(seed)) for seed in SEEDS}
DIFFERENTIATED = [(seed, c) for seed in SEEDS for c in BATTERIES[seed] if c.backward.wanted]


def the_case(name, seed=0):
    return next(c for c in BATTERIES[seed] if c.name == name)


def problem_of(case):
    return Problem.of(case.operands, case.size.get("causal", False), case.size.get("scale"))


# --- the reference ----------------------------------------------------------------------------


@pytest.mark.parametrize("case", BATTERIES[0], ids=lambda c: c.name)
def test_the_reference_agrees_with_pytorch(case):
    q, k, v = (torch.from_numpy(o.values).double().requires_grad_() for o in case.operands)
    dout = torch.from_numpy(case.backward.gradient.values).double()
    group = q.shape[1] // k.shape[1]
    keys, values = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scale = case.size.get("scale", q.shape[3] ** -0.5)
    s = q @ keys.mT * scale
    nq, nk = s.shape[2:]
    if case.size.get("causal"):
        i, j = torch.arange(nq)[:, None], torch.arange(nk)[None, :]
        seen = j <= i + nk - nq
        p = torch.softmax(s.masked_fill(~seen, -1e300), -1) * seen
    else:
        p = torch.softmax(s, -1)
    result = p @ values
    gradients = torch.autograd.grad(result, (q, k, v), dout)
    parts = case.split(case.expected)
    assert np.allclose(parts.pop(""), result.detach().numpy(), rtol=1e-9, atol=1e-11)
    for name, expected in parts.items():
        exact = gradients["qkv".index(name)].numpy()
        assert np.allclose(expected, exact, rtol=1e-8, atol=1e-9), name


@pytest.mark.parametrize("causal", [False, True])
def test_the_reference_agrees_with_finite_differences(causal):
    rng = np.random.default_rng(3)
    problem = Problem(
        *(rng.standard_normal((1, 2, n, 4)) for n in (5, 7, 7)),
        np.arange(7)[None, :] <= np.arange(5)[:, None] + 2 if causal else np.ones((5, 7), bool),
        0.5,
    )
    dout = rng.standard_normal((1, 2, 5, 4))
    gradients = differentiate(problem, dout, 2)
    step = 1e-6
    for name, x in (("q", problem.q), ("k", problem.k), ("v", problem.v)):
        for index in [(0, 0, 0, 0), (0, 1, 4, 3), (0, 1, 2, 1)]:
            losses = []
            for sign in (1, -1):
                moved = x.copy()
                moved[index] += sign * step
                changed = problem.but(**{name: moved})
                losses.append((changed.weights() @ changed.v * dout).sum())
            slope = (losses[0] - losses[1]) / (2 * step)
            assert slope == pytest.approx(gradients[name][index], abs=1e-8), (name, index)


def test_the_battery_covers_what_the_contract_promises():
    cases = BATTERIES[0]
    assert {c.size["D"] for c in cases} == {16, 32, 64, 128}
    assert {c.size["dtype"] for c in cases} == {"float16", "bfloat16", "float32"}
    assert {c.backward.wanted for c in cases} >= {("q", "k", "v"), ("q",), ("v",), ()}
    assert {c.backward.gradient.layout for c in cases} >= {"contiguous", "transposed", "single"}
    assert any(c.size["Nq"] > c.size["Nk"] and "causal" in c.size for c in cases)
    assert any(c.size["Nq"] < c.size["Nk"] and "causal" in c.size for c in cases)
    assert any(c.backward.calls == 2 for c in cases)
    assert any(c.size.get("Hkv") for c in cases)


# --- the error allowed ------------------------------------------------------------------------


def compute(
    case,
    tile=32,
    base_2=True,
    round_weights=True,
    scaled_first="",
    delta_from="rounded result",
    accumulator=np.float32,
    weights=np.float32,
    sums=np.float32,
):
    """Gradients as kernels make them, in fp32, block by block.

    scaled_first  "q" or "k": scaled and rounded before the scores are made, in the backward;
                  "forward": q, in the forward alone
    delta_from    "rounded result", "result", or "weights" (Σ p·dp)
    accumulator, weights, sums  what dq, dk and dv, then p and ds, then delta are kept in
    """
    problem, kind = problem_of(case), case.dtype
    q, k, v = (x.astype(np.float32) for x in (problem.q, problem.k, problem.v))
    dout = case.backward.gradient.values.astype(np.float32)
    factor = np.float32(problem.scale) * (LOG2_E if base_2 else np.float32(1))
    power, log = (np.exp2, np.log2) if base_2 else (np.exp, np.log)

    def short(x):
        return rounded(x, kind).astype(np.float32)

    def masked(scores):
        return np.where(problem.seen, scores, np.float32(-np.inf))

    q_again = q
    scores = masked((short(q * factor) @ k.swapaxes(2, 3)) if scaled_first == "forward" else
                    (q @ k.swapaxes(2, 3)) * factor)  # fmt: skip
    m = scores.max(axis=3, keepdims=True)
    m = np.where(np.isneginf(m), np.float32(0), m)
    p = power(scores - m)
    l = p.sum(axis=3, keepdims=True)
    total = np.where(l == 0, np.float32(1), l)
    result = (short(p) if round_weights else p) @ v / total
    lse = np.where(l == 0, np.float32(np.inf), m + log(total))

    if scaled_first == "q":
        again = short(q * factor) @ k.swapaxes(2, 3)
    elif scaled_first == "k":
        again = q @ short(k * factor).swapaxes(2, 3)
    else:
        again = (q_again @ k.swapaxes(2, 3)) * factor
    p = power(masked(again) - lse)
    dp = dout @ v.swapaxes(2, 3)
    delta = {
        "rounded result": (short(result) * dout).sum(axis=3, keepdims=True),
        "result": (result * dout).sum(axis=3, keepdims=True),
        "weights": (p * dp).sum(axis=3, keepdims=True),
    }[delta_from].astype(sums)
    ds = p * (dp - delta)
    p, ds = p.astype(weights).astype(np.float32), ds.astype(weights).astype(np.float32)
    if round_weights:
        p, ds = short(p), short(ds)
    groups, scale = case.operands[1].values.shape[1], np.float32(problem.scale)

    def by_blocks(weights, x):
        acc = np.zeros((*weights.shape[:3], x.shape[3]), accumulator)
        for start in range(0, weights.shape[3], tile):
            share = weights[..., start : start + tile] @ x[:, :, start : start + tile]
            acc = acc + share.astype(accumulator)
        return acc.astype(np.float32)

    return {
        "": result,
        "q": by_blocks(ds, k) * scale,
        "k": gather(by_blocks(ds.swapaxes(2, 3), q), groups) * scale,
        "v": gather(by_blocks(p.swapaxes(2, 3), dout), groups),
    }


def outside(case, gradients) -> int:
    found, expected, bound = {}, case.split(case.expected), case.split(case.bound)
    for name in case.parts:
        error = np.abs(rounded(gradients[name], case.dtype).astype(np.float64) - expected[name])
        found[name] = int((~(error <= bound[name])).sum())
    return sum(found.values())


@pytest.mark.parametrize(
    "style",
    [
        {"tile": 16},
        {"base_2": False, "delta_from": "result"},
        {"tile": 64, "round_weights": False, "delta_from": "weights"},
        {"scaled_first": "k"},
        {"scaled_first": "q", "tile": 128},
        {"scaled_first": "forward"},
    ],
    ids=str,
)
def test_right_arithmetic_is_inside(style):
    for seed, case in DIFFERENTIATED:
        assert outside(case, compute(case, **style)) == 0, (seed, case.name)


@pytest.mark.parametrize("name", ["many queries", "many keys"])
def test_accumulators_in_fp16_are_outside_where_sums_are_long(name):
    for seed in SEEDS:
        case = the_case(name, seed)
        assert outside(case, compute(case, accumulator=np.float16)) > 0, seed


@pytest.mark.parametrize("lost", ["accumulator", "weights", "sums"])
def test_anything_in_fp16_is_outside_for_float32(lost):
    for seed in SEEDS:
        case = the_case("float32, causal", seed)
        assert outside(case, compute(case, **{lost: np.float16})) > 0, seed


@pytest.mark.parametrize("task", [softmax_backward, attention_delta], ids=["softmax", "delta"])
def test_fp32_arithmetic_of_the_small_steps_is_inside(task):
    for seed in SEEDS:
        for case in task.cases(np.random.default_rng(seed)):
            one, other = (o.values.astype(np.float32) for o in case.operands)
            total = np.cumsum(one * other, axis=-1, dtype=np.float32)[..., -1:]  # one by one
            result = one * (other - total) if task is softmax_backward else total[..., 0]
            error = np.abs(rounded(result, case.dtype).astype(np.float64) - case.expected)
            assert (error <= case.bound).all(), (seed, case.name)


@pytest.mark.parametrize("task", [softmax_backward, attention_delta], ids=["softmax", "delta"])
def test_fp16_arithmetic_of_the_small_steps_is_outside(task):
    for seed in SEEDS:
        for case in task.cases(np.random.default_rng(seed)):
            if case.size["dtype"] == "float32" and case.focus in ("", "R"):
                one, other = (o.values.astype(np.float32) for o in case.operands)
                total = (one * other).sum(axis=-1, keepdims=True).astype(np.float16)
                total = total.astype(np.float32)
                result = one * (other - total) if task is softmax_backward else total[..., 0]
                error = np.abs(result.astype(np.float64) - case.expected)
                assert not (error <= case.bound).all(), (seed, case.name)


# --- the hypotheses ---------------------------------------------------------------------------


def told(case, answer, tiles=frozenset({32})):
    """The causes whose computed answer equals this one."""
    with np.errstate(all="ignore"):
        return [
            cause
            for cause, wrong in attention.hypotheses(case, set(tiles))
            if wrong.shape == answer.shape
            and np.allclose(wrong, answer, rtol=1e-4, atol=1e-5, equal_nan=True)
        ]


def wrong_answers():
    """(id, case, answer, cause): mistakes computed here in the plainest way."""
    case = the_case("whole tiles")
    b, scale = Backward(case), case.size["D"] ** -0.5
    ds = b.p * (b.dp - (b.p * b.dp).sum(3, keepdims=True))
    dq = ds @ b.problem.k
    dk = ds.swapaxes(2, 3) @ b.problem.q
    yield "dq_unscaled", case, b.answer(q=dq), "gradient_scale"
    yield "dk_scaled_twice", case, b.answer(k=dk * scale * scale), "gradient_scale"
    no_sum = b.p * b.dp
    answer = b.answer(q=scale * no_sum @ b.problem.k, k=scale * no_sum.swapaxes(2, 3) @ b.problem.q)
    yield "no_sum", case, answer, "gradient_delta"
    case = the_case("causal")
    b = Backward(case)
    unmasked = np.exp(b.problem.scores() - b.log_sum_exp())
    yield "dv_unmasked", case, b.again(unmasked), "gradient_causal"
    case = the_case("dout transposed")
    b = Backward(case)
    *outer, d, n = case.backward.gradient.values.swapaxes(2, 3).shape
    flat = case.backward.gradient.values.astype(np.float64).swapaxes(2, 3).ravel()
    misread = flat.reshape(*outer, n, d)
    delta = (misread * b.out).sum(3, keepdims=True)
    yield "dout_contiguous", case, b.again(dout=misread, delta=delta), "gradient_layout"
    case = the_case("grouped heads")
    b = Backward(case)
    dv = b.p.swapaxes(2, 3) @ b.dout
    yield "last_head", case, b.answer(v=dv[:, 2::3]), "gqa_mapping"
    case = the_case("backward twice")
    b = Backward(case)
    yield "twice", case, b.answer(v=2 * b.exact["v"]), "accumulator_not_zeroed"
    case = the_case("ragged Nq")
    b = Backward(case)
    kept = np.arange(case.size["Nq"])[:, None] < case.size["Nq"] // 32 * 32
    yield "tail", case, b.of(b.p * kept, b.ds * kept, only="kv"), "tail_dropped"


@pytest.mark.parametrize(
    ("case", "answer", "cause"), [pytest.param(*row[1:], id=row[0]) for row in wrong_answers()]
)
def test_a_mistake_is_named(case, answer, cause):
    causes = told(case, answer)
    assert causes and causes[0] == cause, causes


def test_a_mistake_of_the_forward_is_named_by_the_result_alone():
    case = the_case("whole tiles")
    p = problem_of(case)
    assert told(case, p.but(scale=1.0).weights() @ p.v)[0] == "scale_wrong"


def test_every_hypothesis_has_a_shape_of_the_case():
    for case in BATTERIES[0]:
        if case.focus == "int64":  # too large to lay out
            continue
        with np.errstate(all="ignore"):
            for cause, wrong in attention.hypotheses(case, {32}):
                assert wrong.shape in (case.shape, case.expected.shape), (case.name, cause)


def test_a_gradient_gathered_from_shared_heads_is_the_transpose_of_their_repetition():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 2, 5, 3)), rng.standard_normal((2, 6, 5, 3))
    assert (repeat(x, 6) * y).sum() == pytest.approx((x * gather(y, 2)).sum())


# --- the arena --------------------------------------------------------------------------------


def test_result_and_gradients_lie_one_after_the_other():
    case = the_case("only q requires a gradient, scale given")
    assert list(case.parts) == ["", "q"]
    with Arena(case) as arena:
        told = arena.describe()
        result, (gradient,) = told["result"], told["backward"]["gradients"]
        assert told["operands"][-1]["name"] == "dout"
        assert told["backward"]["wanted"] == [0]
        assert gradient["start"] == result["start"] + 2 * np.prod(result["shape"])
        assert arena.result().shape == case.expected.shape


def test_a_gradient_of_a_sum_is_one_number():
    case = the_case("gradient of a sum")
    with Arena(case) as arena:
        place = arena.describe()["operands"][-1]
        assert place["strides"] == (0, 0, 0, 0)
        assert place["elements"] == 1 + 2 * place["offset"]


# --- the whole way ----------------------------------------------------------------------------

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)


def copy(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, causal, scale):
        ctx.save_for_backward(q, k, v)
        return copy(q)

    @staticmethod
    def backward(ctx, g):
        q, k, v = ctx.saved_tensors
        {body}


def attention(q, k, v, causal=False, scale=None):
    {wrapper}
"""
WRAPPER = "return Attention.apply(q, k, v, causal, scale)"


BODY = "return copy(g), copy(k), copy(v), None, None"


@pytest.fixture
def judged(sandbox):
    """Runs one case of a submission made of KERNEL and judges it → (check, cause)."""

    def judge(body=BODY, wrapper=WRAPPER, name="whole tiles"):
        source = KERNEL.format(body=body, wrapper=wrapper)
        cell = Cell("", "submission.py", source)
        submission = Submission.from_cells(Path("submission.py"), [cell])
        case = the_case(name)
        with Arena(case) as arena:
            job = {
                "code": submission.payload("attention"),
                "arena": arena.describe(),
                "more": list(case.more),
                "named": case.named,
                "allowed": sorted(attention.allowed),
                "kernel": True,
                "order": None,
                "fill": np.nan,
                "tuning": {"config": 0, "winner": 0, "rehearse": False},
                "wall_seconds": 20,
                "cpu_seconds": 20,
            }
            outcome = sandbox.run(job, arena.fd)
            evidence = Judge(submission, "attention").judge(case, arena, outcome)
        return evidence.check, evidence.cause

    return judge


def test_a_result_without_a_graph_is_told_so(judged):
    check, cause = judged(wrapper="return copy(q)")
    assert "`q`, `k` and `v` require a gradient" in check.message and "grad_fn" in check.message
    assert cause == "gradient_missing"
    check, _ = judged(wrapper="return copy(q)", name="only v requires a gradient, scale = 0")
    assert "`v` requires a gradient" in check.message


def test_a_gradient_of_none_is_told_with_its_name(judged):
    body = "return copy(g), None, copy(v), None, None"
    check, cause = judged(body)
    assert "the gradient of `k` is None" in check.message
    assert cause == "gradient_missing"
    check, _ = judged(body, name="only v requires a gradient, scale = 0")
    assert "elements" in check.message and "None" not in check.message


def test_too_few_values_are_counted(judged):
    check, cause = judged("return copy(g), copy(k), copy(v)")
    assert "backward returned 3 values, expected 5" in check.message
    assert cause == "gradient_missing"


def test_a_gradient_of_the_wrong_shape_is_told_with_both_shapes(judged):
    check, cause = judged("return copy(k), copy(k), copy(v), None, None")
    assert "[1, 1, 128, 64]" in check.message and "[1, 1, 64, 64]" in check.message
    assert "argument 0" in check.message
    assert cause == "wrong_shape"


def test_an_error_in_the_backward_has_its_line(judged):
    check, _ = judged("raise ValueError('here')")
    assert check.message.startswith("its backward raised ValueError: here")
    assert check.place == "line 29"


def test_library_work_in_the_backward_is_refused(judged):
    check, cause = judged("return g @ v.mT @ k, copy(k), copy(v), None, None")
    assert (check.status, cause) == ("refused", "library_call")
    assert "The gradient of `q` was made by the operator torch." in check.message


def test_foreign_memory_given_to_a_kernel_of_the_backward_is_refused(judged):
    check, cause = judged("return copy(g * 2), copy(k), copy(v), None, None")
    assert (check.status, cause) == ("refused", "library_call")
    assert "`x_ptr` was made by the operator torch.mul" in check.message


def test_parts_are_named(judged):
    check, _ = judged()
    assert "elements are wrong" in check.message
    assert "Wrong too: the gradient of `q`, the gradient of `k`" in check.message


def test_every_part_is_judged_by_its_own_elements(judged):
    """The gradient of v alone is right where the result's gradient goes straight through."""
    body = "return copy(g), copy(k), copy(v), None, None"
    check, _ = judged(body, name="only q requires a gradient, scale given")
    assert "gradient of `v`" not in check.message and "gradient of `q`" in check.message


def test_the_incoming_gradient_may_not_be_changed(judged):
    check, cause = judged(f"copy_kernel[(1,)](q.contiguous(), g, 64, BLOCK=64); {BODY}")
    assert "the gradient of the result, `dout`, was changed" in check.message
    assert cause == "input_modified"


def test_an_access_outside_in_the_backward_is_found(judged):
    body = f"copy_kernel[(1,)](g, torch.empty_like(q), g.numel() + 64, BLOCK=16384); {BODY}"
    check, _ = judged(body)
    assert "Out-of-bounds read of `x_ptr`" in check.message


def test_a_race_in_the_backward_is_found(judged):
    body = f"copy_kernel[(2,)](g, torch.empty_like(q), 8, BLOCK=4); {BODY}"
    check, _ = judged(body)
    assert "race" not in check.message
    source = body.replace("copy_kernel", "last_kernel")
    wrapper = """pass


@triton.jit
def last_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.store(out_ptr, tl.load(x_ptr + tl.program_id(0)))"""
    check, _ = judged(source, wrapper=f"{WRAPPER}\n    {wrapper}")
    assert "both write an element of `out_ptr`" in check.message


def test_a_call_without_gradients_is_made_under_no_grad(judged):
    name = "scores about -20000, under torch.no_grad()"
    wrapper = "assert not torch.is_grad_enabled(); return copy(q)"
    check, _ = judged(wrapper=wrapper, name=name)
    assert check.status == "failed" and "elements are wrong" in check.message
    check, _ = judged(wrapper=wrapper)
    assert check.status == "error"


def test_kernels_of_the_backward_are_compiled(grade_file):
    result = grade_file(course.ROOT / "solutions" / "13_flash_backward.py", "attention")
    assert result.passed, [(c.name, c.message) for c in result.checks if c.status == "failed"]
    compiled = {view["kernel"] for view in result.xray}
    assert {"forward_kernel", "query_gradient_kernel", "key_gradients_kernel"} <= compiled
