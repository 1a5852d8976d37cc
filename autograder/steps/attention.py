"""The step of chapter 12, `flash_attention`: its cases, the exact answer and the error allowed.

The bound adds what each rounding of a right kernel may do to Σ p·v, with p the exact weights:

- the output's own rounding, u·|R|;
- weights rounded to the inputs' type for the second product, which is legal: each is off by a
  uniform error of at most u·p, so that the sum's deviation is u/√3·√Σp²v²; six of them;
- sixteen fp32 roundings of the sums, conspiring: 2⁻²⁰·Σp|v|;
- a score off by δ, from its fp32 dot product and from its own size (scaling, and subtracting
  the maximum), which moves a weight by p·δ and the normaliser with it.

Calibrated in tests/test_attention.py. What wrong kernels compute is in attention_mistakes.py.
"""

import math

import numpy as np

from autograder.steps.attention_mistakes import hypotheses
from autograder.steps.attention_reference import Problem, attend
from autograder.steps.case import (
    HALF_SUBNORMAL,
    TF32_ROUNDOFF,
    UNIT_ROUNDOFF,
    Case,
    Operand,
    Task,
    expanded,
    normal,
    ragged,
)

FP32_DOT = 4 * 2.0**-24  # as in the matrix product's bound
FP32_SCORE = 4 * 2.0**-24  # scale, change of base, subtraction, rounding of the maximum
FP32_SUMS = 2.0**-20
DEVIATIONS = 6


def bound_of(problem: Problem, expected: np.ndarray, dtype: str) -> np.ndarray:
    """Largest error of a right kernel in each element, as the module's docstring derives it."""
    p, v = problem.weights(), problem.v
    u = UNIT_ROUNDOFF[dtype]
    sizes = abs(problem.scale) * (np.abs(problem.q) @ np.abs(problem.k).swapaxes(2, 3))
    off = FP32_DOT * math.sqrt(problem.q.shape[3]) * sizes + FP32_SCORE * np.abs(problem.scores())
    moved = p * off
    return (
        u * np.abs(expected)
        + DEVIATIONS * u / math.sqrt(3) * np.sqrt((p * p) @ (v * v))
        + FP32_SUMS * (p @ np.abs(v))
        + moved @ np.abs(v)
        + moved.sum(axis=3, keepdims=True) * np.abs(expected)
        + HALF_SUBNORMAL[dtype]
    )


def coarse_of(problem: Problem, expected: np.ndarray) -> np.ndarray:
    """What TF32 may add: operands of both products are cut, scores' as in a matrix product."""
    p, v = problem.weights(), problem.v
    sizes = abs(problem.scale) * (np.abs(problem.q) @ np.abs(problem.k).swapaxes(2, 3))
    moved = p * (8 * TF32_ROUNDOFF / math.sqrt(problem.q.shape[3]) * sizes)
    return (
        2 * DEVIATIONS * TF32_ROUNDOFF * np.sqrt((p * p) @ (v * v))
        + 2 * TF32_ROUNDOFF * np.abs(expected)
        + moved @ np.abs(v)
        + moved.sum(axis=3, keepdims=True) * np.abs(expected)
    )


def draw_case(rng, name, nq, nk, d=64, b=1, h=1, hkv=None, **options) -> Case:
    """One call. Options: dtype, causal, scale, by ("keyword", "position"), a layout for each of
    q, k and v, focus, and `change`, which edits the values drawn."""
    get = {
        "dtype": "float16",
        "causal": False,
        "scale": None,
        "by": "keyword",
        "focus": "",
    } | options
    hkv = hkv or h
    tensors = {}
    for tensor, shape in (("q", (b, h, nq, d)), ("k", (b, hkv, nk, d)), ("v", (b, hkv, nk, d))):
        draw = expanded if get.get(tensor) == "expanded" else normal
        tensors[tensor] = draw(rng, shape, get["dtype"])
    if "change" in get:
        get["change"](rng, **tensors)
    operands = tuple(
        Operand(n, x, get.get(n, "contiguous"), get["dtype"]) for n, x in tensors.items()
    )
    problem = Problem.of(operands, get["causal"], get["scale"])
    expected = attend(problem)
    size = {"Nq": nq, "Nk": nk, "D": d, "B": b, "H": h}
    size |= {"Hkv": hkv} if hkv != h else {}
    size |= {"dtype": get["dtype"]}
    given = {"causal": True} if get["causal"] else {}
    given |= {} if get["scale"] is None else {"scale": get["scale"]}
    size |= given | {o.name: o.layout for o in operands if o.layout != "contiguous"}
    by_position = get["by"] == "position"
    return Case(
        name,
        size,
        operands,
        expected,
        bound_of(problem, expected, get["dtype"]),
        get["dtype"],
        get["focus"],
        more=(get["causal"], get["scale"]) if by_position else (),
        named={} if by_position else given,
        coarse=coarse_of(problem, expected) if get["dtype"] == "float32" else 0.0,
    )


# --- values -----------------------------------------------------------------------------------


def shift_scores(low: int, high: int, sign: int):
    """Moves all scores by sign·a²/√D, with a drawn from [low, high).

    Values are multiples of 1/8, so that scores this large are still exact in fp32.
    """

    def change(rng, q, k, v):
        for x in (q, k):
            x[...] = np.round(x * 8) / 8
        a = int(rng.integers(low, high))
        q[..., 0], k[..., 0] = a, sign * a

    return change


def needles(rng, q, k, v):
    """Two keys that one query each prefers by far: one among the first keys, one at the end.

    Each pair has a coordinate of its own, so that no other score grows.
    """
    q[..., :2] = 0
    places = (int(rng.integers(16)), -1 - int(rng.integers(16)))
    queries = rng.choice(q.shape[2], 2, replace=False)
    for coordinate, (query, key) in enumerate(zip(queries, places)):
        q[:, :, query, coordinate] = k[:, :, key, coordinate] = 40


def around_one(rng, q, k, v):
    """Values that do not cancel, so that lost digits of a long sum show."""
    v += 1


# --- the battery ------------------------------------------------------------------------------


def _flash_attention_cases(rng) -> list[Case]:
    def odd(low, high):
        return ragged(rng, low, high)

    def scale():
        return round(float(rng.uniform(0.03, 0.08)), 3)

    def case(name, nq, nk, d=64, **options):
        return draw_case(rng, name, nq, nk, d, **options)

    below, far_below = shift_scores(36, 44, -1), shift_scores(380, 440, -1)
    above = shift_scores(36, 44, 1)
    return [
        case("whole tiles", 64, 128, h=2),
        case("causal", 64, 64, 32, causal=True, focus="causal"),
        case("ragged Nq", odd(33, 60), 64, 32, focus="M"),
        case("ragged Nk", 64, 64 + odd(3, 60), 32, focus="N"),
        case("fewer keys than a tile", 32, odd(3, 9), 32, focus="N"),
        case("one query", 1, odd(65, 90), focus="MN"),
        case("causal, fewer queries", odd(17, 25), odd(45, 60), causal=True, focus="alignment"),
        case("causal, more queries", odd(45, 60), odd(17, 25), causal=True, focus="empty"),
        case("causal, 24 queries more", 44, 20, 16, causal=True, focus="empty"),
        case("causal, 32 queries more", 52, 20, 16, causal=True, focus="empty"),
        case("causal, long", odd(150, 170), odd(180, 200), 16, causal=True, focus="alignment"),
        case("causal, long, more queries", odd(150, 170), odd(129, 136), 16, causal=True,
             focus="alignment"),
        case("causal, one key more", 128, 129, 16, causal=True, focus="alignment"),
        case("batches and heads", 16, odd(17, 32), 16, b=2, h=3, focus="heads"),
        case("grouped heads", 16, odd(17, 32), 16, h=6, hkv=2, focus="gqa"),
        case("grouped heads, causal", 17, 33, 16, b=2, h=4, hkv=2, causal=True, focus="gqa"),
        case("D = 128", odd(17, 32), odd(33, 60), 128, focus="D"),
        case("D = 16", odd(17, 32), odd(33, 60), 16, focus="D"),
        case("scale given", 32, odd(33, 60), scale=scale(), focus="scale"),
        case("causal and negative scale by position", 32, 32, scale=-scale(), causal=True,
             by="position", focus="scale"),
        case("scale = 0", 32, odd(33, 60), 16, scale=0.0, focus="scale"),
        case("all seen from (B, N, H, D)", 16, 32, 16, b=2, h=3, q="bnhd", k="bnhd", v="bnhd",
             focus="strides:qkv"),
        case("q transposed", 32, 32, 32, h=2, q="transposed", focus="strides:q"),
        case("k transposed", 32, 64, 32, h=2, k="transposed", focus="strides:k"),
        case("v with padded rows", 32, 64, 32, h=2, v="padded", focus="strides:v"),
        case("q seen from (B, N, H, D), v transposed", 32, 32, 32, h=2, q="bnhd", v="transposed",
             focus="strides:qv"),
        case("q sliced, k and v expanded", 32, 32, 32, h=2, q="sliced", k="expanded", v="expanded",
             focus="strides:qkv"),
        # A block of up to 128 keys begins at the last key, whose offset alone passes 2³¹.
        case("rows beyond 2³¹ elements", 16, 129, 16, q="far", k="far", v="far", focus="int64"),
        case("heads beyond 2³¹ elements", 16, 16, 16, h=5, q="far", k="far", v="far",
             focus="int64"),
        case("batches beyond 2³¹ elements", 16, 16, 16, b=3, q="far", k="far", v="far",
             focus="int64"),
        case("scores far above zero", 32, odd(65, 80), change=above, focus="large"),
        case("scores far below zero", 32, odd(65, 80), change=below, focus="below"),
        case("scores about -20000", 32, odd(33, 60), change=far_below, focus="far below"),
        case("scores about -20000, causal", odd(17, 25), odd(33, 60), change=far_below,
             causal=True, focus="far below"),
        case("two needles", 32, 128, change=needles, focus="large"),
        case("float32", odd(33, 60), odd(65, 90), 32, dtype="float32", focus="dtype"),
        case("float32, causal", odd(17, 32), odd(33, 60), dtype="float32", causal=True,
             focus="dtype"),
        case("bfloat16", odd(17, 32), odd(33, 60), dtype="bfloat16", focus="dtype"),
        case("bfloat16, causal", odd(17, 32), odd(33, 60), 32, dtype="bfloat16", causal=True,
             focus="dtype"),
        case("no keys", 64, 0, 16, h=2, focus="empty"),
        case("many keys", 16, 512 + odd(3, 30), 32, change=around_one, focus="precision"),
    ]  # fmt: skip


def _hypotheses(case: Case, tiles: set[int]):
    if case.size["Nk"] == 0:  # nothing is read, so nothing can be misread
        yield "empty_row", np.full(case.shape, np.nan)
        return
    yield from hypotheses(case, tiles)


flash_attention = Task(_flash_attention_cases, _hypotheses, otherwise="wrong_values")
