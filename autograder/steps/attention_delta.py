"""The step `attention_delta` of chapter 13: Σ out·dout along D, one number for each query.

The bound is that of a dot product of D terms in fp32, 4·√D·u·Σ|out·dout|, as for a matrix product.
Must never ask for more than float32 gives: the result is float32 for every type of the inputs.
"""

import numpy as np

from autograder.formats import rounded
from autograder.steps import memory
from autograder.steps.case import UNIT_ROUNDOFF, Case, Operand, Task, expanded, normal, ragged

SMALLEST_NORMAL = 2.0**-126  # a GPU may replace what is smaller by 0


def _case(rng, name, n, d=32, b=1, h=1, focus="", dtype="float16", out="contiguous",
          dout="contiguous") -> Case:  # fmt: skip
    """`out` and `dout` are layouts."""
    operands = []
    for tensor, layout in (("out", out), ("dout", dout)):
        draw = {"expanded": expanded, "single": _ones}.get(layout, normal)
        operands.append(Operand(tensor, draw(rng, (b, h, n, d), dtype), layout, dtype))
    product = np.multiply(*(o.values.astype(np.float64) for o in operands))
    u = UNIT_ROUNDOFF["float32"]
    bound = u * 4 * np.sqrt(d) * np.abs(product).sum(axis=3) + SMALLEST_NORMAL
    size = {"N": n, "D": d, "B": b, "H": h, "dtype": dtype}
    size |= {o.name: o.layout for o in operands if o.layout != "contiguous"}
    return Case(name, size, tuple(operands), product.sum(axis=3), bound, "float32", focus)


def _ones(rng, shape, dtype) -> np.ndarray:
    return normal(rng, shape, dtype) * 0 + 1


def _cases(rng) -> list[Case]:
    def odd(low, high):
        return ragged(rng, low, high)

    def case(name, n, d=32, **options):
        return _case(rng, name, n, d, **options)

    return [
        case("whole tiles", 128, 64, h=2),
        case("ragged N", 64 + odd(3, 60), focus="N"),
        case("fewer rows than a tile", odd(3, 9), focus="N"),
        case("one row", 1, 16, focus="N"),
        case("batches and heads", odd(17, 32), 16, b=2, h=3, focus="heads"),
        case("D = 16", odd(17, 32), 16, focus="D"),
        case("D = 128", odd(17, 32), 128, focus="D"),
        case("gradient of a sum", 64, h=2, dout="single", focus="dout"),
        case("dout transposed", 64, h=2, dout="transposed", focus="dout"),
        case("dout seen from (B, N, H, D)", 32, 16, b=2, h=3, dout="bnhd", focus="dout"),
        case("out transposed, dout padded", 64, h=2, out="transposed", dout="padded",
             focus="strides:out"),
        case("out seen from (B, N, H, D), dout sliced", 32, 16, b=2, h=3, out="bnhd",
             dout="sliced", focus="strides:out"),
        case("beyond 2³¹ elements", 16, 16, h=5, out="far", dout="far", focus="int64"),
        case("rows beyond 2³¹ elements", odd(33, 60), 16, out="far", focus="int64"),
        case("float32", odd(65, 90), dtype="float32", focus="dtype"),
        case("bfloat16", odd(65, 90), dtype="bfloat16", focus="dtype"),
    ]  # fmt: skip


def _hypotheses(case: Case, tiles: set[int]):
    out, dout = case.operands
    o, do = (x.values.astype(np.float64) for x in case.operands)
    yield "gradient_delta", do.sum(axis=3)
    yield "gradient_delta", o.sum(axis=3)
    yield "gradient_delta", (o * o).sum(axis=3)
    yield "gradient_delta", (do * do).sum(axis=3)
    yield "gradient_delta", (o + do).sum(axis=3)
    yield "gradient_delta", o.sum(axis=3) * do.sum(axis=3)
    for factor in (1 / case.size["D"], case.size["D"] ** -0.5, -1.0):
        yield "gradient_delta", case.expected * factor
    yield "gradient_delta", (o * do).max(axis=3)
    yield "gradient_delta", (o * do)[..., 0]
    yield from _wrong_heads(o, do)
    yield from _misread(out, dout, o, do)
    for tile in sorted(tiles):  # one sum for all rows of a program, or along them
        rows = np.arange(case.size["N"]) // tile
        whole = np.stack([case.expected[:, :, rows == i].sum(axis=2) for i in rows], axis=2)
        yield "max_not_per_row", whole
        if case.size["D"] > tile:
            yield "tail_dropped", (o * do)[..., : case.size["D"] // tile * tile].sum(axis=3)
            yield "tail_dropped", (o * do)[..., :tile].sum(axis=3)
    if case.size["dtype"] == "float32":
        yield "low_precision_input", (_half(o) * _half(do)).sum(axis=3)
        yield "low_precision_output", _half(case.expected)
        return
    kind = case.size["dtype"]
    product = rounded(o * do, kind).astype(np.float64)
    yield "low_precision_accumulator", product.sum(axis=3)
    yield "low_precision_accumulator", rounded(case.expected, kind).astype(np.float64)
    yield "low_precision_accumulator", rounded(product.sum(axis=3), kind).astype(np.float64)


def _half(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float16).astype(np.float64)


def _wrong_heads(o: np.ndarray, do: np.ndarray):
    for axis in (0, 1):
        if o.shape[axis] > 1:
            first, dfirst = (np.broadcast_to(np.take(x, [0], axis), x.shape) for x in (o, do))
            for one, other in ((first, do), (o, dfirst), (first, dfirst)):
                yield "head_or_batch_offset", (one * other).sum(axis=3)
    turned = (o * do).sum(axis=3).transpose(1, 0, 2).reshape(o.shape[:3])
    yield "head_or_batch_offset", turned


def _misread(out: Operand, dout: Operand, o: np.ndarray, do: np.ndarray):
    for known, look in (
        ("stride_ignored", memory.as_contiguous),
        ("stride_ignored", memory.with_unit_column_stride),
        ("strides_swapped", memory.with_swapped_strides),
    ):
        yield "gradient_layout", (o * look(dout)).sum(axis=3)
        yield known, (look(out) * do).sum(axis=3)
        yield known, (look(out) * look(dout)).sum(axis=3)
    yield "gradient_layout", (o * memory.read(dout, memory.strides_of(out))).sum(axis=3)
    yield "stride_ignored", (memory.read(out, memory.strides_of(dout)) * do).sum(axis=3)


attention_delta = Task(_cases, _hypotheses, otherwise="gradient_delta")
