"""The matrix-product steps of chapter 6: `tile_matmul`, `triton_matmul`, `linear_gelu`.

The bound is the error that fp32 accumulation may make, after Higham, Accuracy and Stability of
Numerical Algorithms (2nd ed.), section 3.1, with √K in place of K because roundings do not
conspire: |e| ≤ u_out·|R| + 4·2⁻²⁴·√K·(|A|·|B|). It is calibrated in tests/test_bounds.py: right
kernels stay inside, an fp16 accumulator or inputs cut to fp16 do not.
"""

import math

import numpy as np

from autograder.formats import rounded
from autograder.steps import memory
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

ACCUMULATION = 4 * 2.0**-24  # fp32 roundings, with a factor for the order of the sum


def _accumulation_error(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return ACCUMULATION * math.sqrt(a.shape[1]) * (np.abs(a) @ np.abs(b))


def rounding_of(a: np.ndarray, b: np.ndarray, out: str) -> np.ndarray:
    """The error allowed for the product of two float64 arrays, stored as `out`."""
    return UNIT_ROUNDOFF[out] * np.abs(a @ b) + _accumulation_error(a, b) + HALF_SUBNORMAL[out]


def tf32_error(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What TF32 may add for two float64 arrays: both operands are cut, and all cuts are towards
    zero. 8 roundings, and √K as above; the largest seen on an H200 is 5.9."""
    return 8 * TF32_ROUNDOFF * (np.abs(a) @ np.abs(b)) / math.sqrt(max(1, a.shape[1]))


def wide(operand: Operand) -> np.ndarray:
    return operand.values.astype(np.float64)


def _draw(rng, shape, dtype, layout):
    return (expanded if layout == "expanded" else normal)(rng, shape, dtype)


# --- plain products ---------------------------------------------------------------------------


def product_case(
    rng, name, m, n, k, dtype="float16", out=None, a="contiguous", b="contiguous", focus=""
) -> Case:
    """C = A·B with A (m,k) and B (k,n) in the given layouts; `out` defaults to the input dtype."""
    out = out or dtype
    left = Operand("a", _draw(rng, (m, k), dtype, a), a, dtype)
    right = Operand("b", _draw(rng, (k, n), dtype, b), b, dtype)
    expected = wide(left) @ wide(right)
    size = {"M": m, "N": n, "K": k, "dtype": dtype}
    size |= {o.name: o.layout for o in (left, right) if o.layout != "contiguous"}
    bound = rounding_of(wide(left), wide(right), out)
    coarse = tf32_error(wide(left), wide(right)) if dtype == "float32" else 0.0
    return Case(name, size, (left, right), expected, bound, out, focus, coarse=coarse)


def _triton_matmul_cases(rng) -> list[Case]:
    def odd(low, high):
        return ragged(rng, low, high)

    def case(name, m, n, k, **kwargs):
        return product_case(rng, name, m, n, k, **kwargs)

    return [
        case("whole tiles", 64, 64, 64),
        case("several tiles", 128, 256, 64, focus="rectangular"),
        case("ragged M", 64 + odd(3, 60), 64, 64, focus="M"),
        case("ragged N", 64, 64 + odd(3, 60), 64, focus="N"),
        case("ragged K", 64, 64, 64 + odd(3, 60), focus="K"),
        case("ragged everywhere", odd(133, 160), odd(133, 160), odd(33, 60), focus="MNK"),
        case("smaller than a tile", odd(3, 7), odd(9, 15), odd(3, 15), focus="MNK"),
        case("one row", 1, odd(17, 60), odd(17, 60), focus="MNK"),
        case("no rows", 0, 64, 64, focus="empty"),
        case("A transposed", 64, 64, 128, a="transposed", focus="strides:a"),
        case("B transposed", 64, 64, 128, b="transposed", focus="strides:b"),
        case("A with padded rows", 64, odd(33, 60), odd(65, 90), a="padded", focus="strides:a"),
        case("B with padded rows", odd(33, 60), 64, odd(65, 90), b="padded", focus="strides:b"),
        case("A sliced, B expanded", 32, 64, 64, a="sliced", b="expanded", focus="strides:ab"),
        case("A and B beyond 2³¹ elements", odd(33, 60), 32, 64, a="far", b="far", focus="int64"),
        case("float32", odd(33, 60), odd(33, 60), odd(65, 90), dtype="float32", focus="dtype"),
        case("bfloat16", odd(33, 60), odd(33, 60), odd(65, 90), dtype="bfloat16", focus="dtype"),
        # For kernels that leave the mask out where K is divisible: by which tile size?
        case("K a multiple of 16 only", 96, 64, 48 + 32 * int(rng.integers(2)), focus="K"),
        case("long K", 32, 32, 1024 + odd(3, 30), focus="precision"),
    ]


# What shows a config that is wrong where others are right.
EACH_CONFIG = frozenset(
    {"several tiles", "ragged K", "ragged everywhere", "K a multiple of 16 only", "float32"}
)


def _tile_matmul_cases(rng) -> list[Case]:
    def odd(low, high):
        return ragged(rng, low, high)

    def case(name, k, **kwargs):
        return product_case(rng, name, 32, 32, k, out="float32", **kwargs)

    return [
        case("one step", 32),
        case("several steps", 256, focus="steps"),
        case("ragged K", 128 + odd(3, 30), focus="K"),
        case("K smaller than a tile", odd(3, 15), focus="K"),
        case("K = 1", 1, focus="K"),
        case("A transposed", 128, a="transposed", focus="strides:a"),
        case("B transposed", 128, b="transposed", focus="strides:b"),
        case("padded rows", 64 + odd(3, 30), a="padded", b="padded", focus="strides:ab"),
        case("float32", 64 + odd(3, 30), dtype="float32", focus="dtype"),
        case("long K", 512 + odd(3, 30), focus="precision"),
    ]


def _floor(k: int, tile: int) -> int:
    return k // tile * tile


def _wrong_products(a: np.ndarray, b: np.ndarray, tiles: set[int]):
    """What the usual slips in the K loop compute, for each tile size of the kernel."""
    k = a.shape[1]
    for tile in sorted(tiles):
        if k % tile:
            short = _floor(k, tile)
            yield "k_tail_dropped", a[:, :short] @ b[:short]
        if k > tile:
            steps = -(-k // tile)
            yield "k_tail_dropped", a[:, : (steps - 1) * tile] @ b[: (steps - 1) * tile]
            pad = steps * tile - k
            tiles_a = np.pad(a, ((0, 0), (0, pad))).reshape(a.shape[0], steps, tile)
            tiles_b = np.pad(b, ((0, pad), (0, 0))).reshape(steps, tile, b.shape[1])
            first_a, first_b = tiles_a[:, 0], tiles_b[0]
            # The last step's mask still belongs to the tail: only its first columns count.
            mask = (np.arange(steps * tile) < k).reshape(steps, tile)
            seen_a = np.einsum("mt,st->mst", first_a, mask)
            seen_b = np.einsum("tn,st->stn", first_b, mask)
            yield "pointer_not_advanced", np.einsum("mst,stn->mn", seen_a, seen_b)
            yield "pointer_not_advanced", np.einsum("mst,stn->mn", seen_a, tiles_b)
            yield "pointer_not_advanced", np.einsum("mst,stn->mn", tiles_a, seen_b)
            for other in tiles:  # steps counted with the wrong tile size
                covered = -(-k // other) * tile
                if covered < k:
                    yield "tile_dimensions_confused", a[:, :covered] @ b[:covered]
            yield "accumulator_overwritten", tiles_a[:, -1] @ tiles_b[-1]
            yield "k_loop_missing", first_a @ first_b


def _misread_products(left: Operand, right: Operand, right_is_transposed: bool = False):
    """The product if the strides of one operand, or of both, are ignored or exchanged."""

    def turn(values):
        return values.T if right_is_transposed else values

    a, b = wide(left), turn(wide(right))
    for cause, read in (
        ("stride_ignored", memory.as_contiguous),
        ("stride_ignored", memory.with_unit_column_stride),
        ("strides_swapped", memory.with_swapped_strides),
    ):
        misread_a, misread_b = read(left), turn(read(right))
        yield cause, misread_a @ b
        yield cause, a @ misread_b
        yield cause, misread_a @ misread_b


def product_hypotheses(case: Case, tiles: set[int]):
    left, right = case.operands
    a, b = wide(left), wide(right)
    yield from _wrong_products(a, b, tiles)
    yield from _misread_products(left, right)
    if case.dtype == "float32":
        yield "low_precision_input", a.astype(np.float16).astype(float) @ b.astype(np.float16)
        yield "low_precision_output", case.expected.astype(np.float16).astype(float)
    yield "strides_swapped", case.expected.T.reshape(case.shape)  # the output's strides
    yield "accumulator_not_zeroed", case.expected + 1
    for tile in tiles:
        if a.shape[1] % tile:  # both masked with other=1: every lane of the tail adds 1·1
            yield "masked_other_wrong", case.expected + tile - a.shape[1] % tile
    bound_by_rows = a[:, : a.shape[0]] @ b[: a.shape[0]]
    yield "tile_dimensions_confused", bound_by_rows
    yield "tile_dimensions_confused", a[:, : b.shape[1]] @ b[: b.shape[1]]


tile_matmul = Task(_tile_matmul_cases, product_hypotheses)
triton_matmul = Task(_triton_matmul_cases, product_hypotheses, each_config=EACH_CONFIG)


# --- linear layer with gelu -------------------------------------------------------------------

_erf = np.vectorize(math.erf, otypes=[float])


def gelu(z: np.ndarray) -> np.ndarray:
    """Exact gelu, z·Φ(z) (Hendrycks and Gimpel, 2016, arXiv:1606.08415)."""
    return 0.5 * z * (1 + _erf(z / math.sqrt(2)))


def gelu_tanh(z: np.ndarray) -> np.ndarray:
    """The tanh approximation, which the step does not accept."""
    return 0.5 * z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))


STEEPEST = 1.13  # largest slope of gelu: how much an error in z can grow


def _linear_case(
    rng, name, m, n, k, dtype="float16", x="contiguous", w="contiguous", b="contiguous", focus=""
) -> Case:
    inputs = Operand("x", _draw(rng, (m, k), dtype, x), x, dtype)
    scaled = rounded(_draw(rng, (n, k), dtype, w) / math.sqrt(k), dtype)
    weights = Operand("w", scaled, w, dtype)
    bias = Operand("bias", normal(rng, (n,), dtype), b, dtype)
    wide_x, wide_w = wide(inputs), wide(weights).T
    z = wide_x @ wide_w + wide(bias)
    expected = gelu(z)
    in_z = _accumulation_error(wide_x, wide_w) + 2.0**-23 * (np.abs(z) + np.abs(wide(bias)))
    bound = (
        UNIT_ROUNDOFF[dtype] * np.abs(expected)
        + STEEPEST * in_z
        + 2.0**-22 * np.abs(z)  # erf in fp32, and the cancellation in 1 + erf
        + HALF_SUBNORMAL[dtype]
    )
    size = {"M": m, "N": n, "K": k, "dtype": dtype}
    size |= {o.name: o.layout for o in (inputs, weights, bias) if o.layout != "contiguous"}
    coarse = STEEPEST * tf32_error(wide_x, wide_w) if dtype == "float32" else 0.0
    return Case(name, size, (inputs, weights, bias), expected, bound, dtype, focus, coarse=coarse)


def _linear_gelu_cases(rng) -> list[Case]:
    def odd(low, high):
        return ragged(rng, low, high)

    def case(name, m, n, k, **kwargs):
        return _linear_case(rng, name, m, n, k, **kwargs)

    return [
        case("whole tiles", 64, 64, 64),
        case("float32", 64, 64, 64, dtype="float32", focus="epilogue"),
        case("several tiles", 128, 256, 64, focus="rectangular"),
        case("ragged M", 64 + odd(3, 60), 64, 64, focus="M"),
        case("ragged N", 64, 64 + odd(3, 60), 64, focus="N"),
        case("ragged K", 64, 64, 64 + odd(3, 60), focus="K"),
        case("ragged everywhere", odd(133, 160), odd(133, 160), odd(33, 60), focus="MNK"),
        case("smaller than a tile", odd(3, 7), odd(9, 15), odd(3, 15), focus="MNK"),
        case("x transposed", 64, 64, 128, x="transposed", focus="strides:x"),
        case("w transposed", 64, 64, 128, w="transposed", focus="strides:w"),
        case("padded rows", 64, odd(33, 60), odd(65, 90), x="padded", w="padded", focus="strides:xw"),
        case("bias sliced", 32, odd(33, 60), 64, b="sliced", focus="strides:bias"),
        case("x beyond 2³¹ elements", odd(33, 60), 32, 64, x="far", focus="int64"),
        case("ragged float32", odd(33, 60), odd(33, 60), odd(65, 90), dtype="float32", focus="dtype"),
        case("bfloat16", odd(33, 60), odd(33, 60), odd(65, 90), dtype="bfloat16", focus="dtype"),
        case("long K", 32, 32, 512 + odd(3, 30), focus="precision"),
    ]  # fmt: skip


def _linear_gelu_hypotheses(case: Case, tiles: set[int]):
    x, w, bias = case.operands
    wide_x, wide_w, wide_b = wide(x), wide(w).T, wide(bias)
    product = wide_x @ wide_w
    z = product + wide_b
    yield "stride_ignored", gelu(product + memory.as_contiguous(bias))
    yield "epilogue_wrong", gelu_tanh(z)
    yield "epilogue_wrong", gelu(product)
    yield "epilogue_wrong", gelu(product) + wide_b
    yield "epilogue_wrong", z
    yield "epilogue_wrong", np.maximum(z, 0)
    yield "epilogue_wrong", z / (1 + np.exp(-1.702 * z))
    yield "epilogue_wrong", 0.5 * z * (1 + _erf(z))
    if case.shape[0] <= wide_b.size:
        yield "epilogue_wrong", gelu(product + wide_b[: case.shape[0], None])
    for cause, wrong in _wrong_products(wide_x, wide_w, tiles):
        yield cause, gelu(wrong + wide_b)
    for cause, wrong in _misread_products(x, w, right_is_transposed=True):
        yield cause, gelu(wrong + wide_b)


linear_gelu = Task(_linear_gelu_cases, _linear_gelu_hypotheses, otherwise="epilogue_wrong")
