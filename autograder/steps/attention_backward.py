"""The step `attention` of chapter 13: its cases, exact gradients and the error allowed.

The result has the bound of chapter 12. A gradient's bound adds what each rounding of a right kernel
may do. Roundings that are uniform and independent are added as variances, u²/3 each, and six
deviations are allowed:

- weights p, and gradients ds of the scores, rounded to the inputs' type for the next product;
- the operands of the scores scaled and rounded once more, in the forward or in the backward, and
  with them each row's log-sum-exp and its delta;
- the result, from which delta is made, and the weights in it.

Roundings in fp32 are added as if they conspired: of scores and log-sum-exp, as in chapter 12; of
dp, as in a matrix product; of the sums, 2⁻²⁰ of the sum of sizes. Last come the gradient's own
rounding, and what underflows. Calibrated in tests/test_attention_backward.py. What wrong kernels
compute is in attention_backward_mistakes.py.
"""

import math
from dataclasses import replace

import numpy as np

from autograder.steps.attention import (
    DEVIATIONS,
    FP32_DOT,
    FP32_SCORE,
    FP32_SUMS,
    draw_case,
    shift_scores,
)
from autograder.steps.attention_backward_mistakes import hypotheses
from autograder.steps.attention_reference import Problem, attend, differentiate, gather
from autograder.steps.case import (
    HALF_SUBNORMAL,
    TF32_ROUNDOFF,
    UNIT_ROUNDOFF,
    Backward,
    Case,
    Operand,
    Task,
    expanded,
    normal,
    ragged,
)


def bounds_of(
    problem: Problem, dout: np.ndarray, exact: dict[str, np.ndarray], dtype: str, tf32: bool = False
) -> dict[str, np.ndarray]:
    """Largest error of a right kernel in each gradient, as the module's docstring derives it.

    `tf32`: its products are made in TF32, which rounds every operand once more.
    """
    groups, q, k = exact["k"].shape[1], problem.q, problem.k
    p, out = problem.weights(), attend(problem)
    dp = dout @ problem.v.swapaxes(2, 3)
    delta = (out * dout).sum(axis=3, keepdims=True)
    ds = p * (dp - delta)
    across, u = (0, 1, 3, 2), TF32_ROUNDOFF if tf32 else UNIT_ROUNDOFF[dtype]
    rounding, small, scale = u * u / 3, HALF_SUBNORMAL[dtype], abs(problem.scale)

    # Variances: of scores, of each row's log-sum-exp, of its delta. A rounded number of q moves all
    # scores of its row together, one of k all scores of its column.
    once = rounding * scale**2
    score = once * (q * q) @ (k * k).transpose(across)
    lse = (p * p * score).sum(axis=3, keepdims=True)
    lse += once * (q * q * (p @ k) ** 2).sum(axis=3, keepdims=True)
    from_out = (out * out * dout * dout).sum(axis=3, keepdims=True)
    from_out += (p * p * dp * dp).sum(axis=3, keepdims=True)
    of_delta = rounding * from_out + (ds * ds * score).sum(axis=3, keepdims=True)
    of_delta += once * (q * q * (ds @ k) ** 2).sum(axis=3, keepdims=True)

    # Errors in fp32: relative ones of the weights, absolute ones of dp and delta.
    sizes = scale * (np.abs(q) @ np.abs(k).transpose(across))
    off = FP32_DOT * math.sqrt(q.shape[3]) * sizes + FP32_SCORE * np.abs(problem.scores())
    moved = (np.abs(ds) * off).sum(axis=3, keepdims=True)
    off = off + (p * off).sum(axis=3, keepdims=True) + FP32_SCORE * np.abs(_log_sum_exp(problem))
    dp_off = FP32_DOT * math.sqrt(q.shape[3]) * (np.abs(dout) @ np.abs(problem.v).transpose(across))
    delta_off = FP32_SUMS * (np.abs(dout) * (p @ np.abs(problem.v))).sum(axis=3, keepdims=True)
    ds_off = np.abs(ds) * (off + FP32_SUMS) + p * (dp_off + delta_off + moved)

    own = ds * ds * (2 * rounding + score)
    q_variance = own @ (k * k) + of_delta * (p @ k) ** 2 + lse * (ds @ k) ** 2
    k_variance = (own + ds * ds * lse + p * p * of_delta).transpose(across) @ (q * q)
    v_variance = (p * p * (rounding + score + lse)).transpose(across) @ (dout * dout)
    q_off = (ds_off + small) @ np.abs(k)
    k_off = (ds_off + small).transpose(across) @ np.abs(q)
    v_off = (p * (off + FP32_SUMS) + small).transpose(across) @ np.abs(dout)
    q_together = once * _together(ds.transpose(across), k, k, q, q.shape[1])
    k_together = once * _together(ds, q, q, k, groups)
    v_together = once * _together(p, dout, q, k, groups)
    spread = {
        "q": (scale**2 * (q_variance + q_together), scale * q_off),
        "k": (scale**2 * (gather(k_variance, groups) + k_together), scale * gather(k_off, groups)),
        "v": (gather(v_variance, groups) + v_together, gather(v_off, groups)),
    }
    return {
        name: DEVIATIONS * np.sqrt(variance) + fixed + u * np.abs(exact[name]) + small
        for name, (variance, fixed) in spread.items()
    }


def _together(weights, factors, partners, rounded, groups) -> np.ndarray:
    """Variance of Σ_i w_ij f_ie ε_ij, per u²/3, where ε_ij = Σ_d y_id z_jd r_jd and r_jd are the
    roundings of z: Σ_d z_jd² (Σ_i w_ij f_ie y_id)². Heads of a group share z. In float32, which is
    exact enough for a bound and half the work: it takes longest of all that a case needs."""
    weights, factors, partners = (x.astype(np.float32) for x in (weights, factors, partners))
    moved = (weights.swapaxes(2, 3)[:, :, :, None, :] * factors.swapaxes(2, 3)[:, :, None]) @ (
        partners[:, :, None]
    )  # (B, H, j, e, d)
    own = rounded[:, :: rounded.shape[1] // groups]
    return (gather(moved, groups) ** 2 * (own * own)[:, :, :, None, :]).sum(axis=4)


def _log_sum_exp(problem: Problem) -> np.ndarray:
    """Of each row of scores; 0 where there is no key to see."""
    masked = problem.masked()
    top = masked.max(axis=3, keepdims=True, initial=-np.inf)
    top = np.where(np.isneginf(top), 0.0, top)
    total = np.exp(masked - top).sum(axis=3, keepdims=True)
    return np.where(total > 0, top + np.log(np.where(total > 0, total, 1.0)), 0.0)


def draw_backward_case(
    rng, name, nq, nk, d=64, dout="contiguous", wanted="qkv", calls=1, **options
) -> Case:
    """One call that is differentiated. `dout`: a layout; `wanted`: the operands, one letter each;
    the other options are those of chapter 12's cases."""
    forward = draw_case(rng, name, nq, nk, d, **options)
    shape, dtype = forward.shape, forward.dtype
    draw = {"expanded": expanded, "single": _ones}.get(dout, normal)
    gradient = Operand("dout", draw(rng, shape, dtype), dout, dtype)
    if "change_dout" in options:
        options["change_dout"](gradient.values)
    problem = Problem.of(
        forward.operands, forward.size.get("causal", False), forward.size.get("scale")
    )
    dout64 = gradient.values.astype(np.float64)
    exact = differentiate(problem, dout64, forward.operands[1].values.shape[1])
    bounds = bounds_of(problem, dout64, exact, dtype)
    coarse = 0.0
    if dtype == "float32":
        tf32 = bounds_of(problem, dout64, exact, dtype, tf32=True)
        more = {name: 2 * tf32[name] for name in bounds}  # cut, not rounded: twice as far off
        coarse = _one_after_the_other(forward.coarse, more, wanted)
    size = forward.size | ({"dout": dout} if dout != "contiguous" else {})
    size |= {"gradients": " ".join(wanted) or "none"} if wanted != "qkv" else {}
    return replace(
        forward,
        size=size,
        expected=_one_after_the_other(forward.expected, exact, wanted),
        bound=_one_after_the_other(forward.bound, bounds, wanted),
        backward=Backward(gradient, tuple(wanted), calls),
        coarse=coarse,
    )


def _one_after_the_other(result, gradients, wanted) -> np.ndarray:
    return np.concatenate([result.ravel(), *(gradients[name].ravel() for name in wanted)])


def _ones(rng, shape, dtype) -> np.ndarray:
    """What `out.sum().backward()` hands to a backward."""
    return normal(rng, shape, dtype) * 0 + 1


def _rising(rng, q, k, v):
    """Values that rise from key to key, so that a partial sum of dq is far larger than the whole."""
    k += 2
    v += np.linspace(-8, 8, v.shape[2], dtype=v.dtype)[:, None]


def _around_one(values: np.ndarray) -> None:
    """Gradients that do not cancel, so that lost digits of a long sum show."""
    values += 1


def _attention_cases(rng) -> list[Case]:
    def odd(low, high):
        return ragged(rng, low, high)

    def case(name, nq, nk, d=16, **options):
        return draw_backward_case(rng, name, nq, nk, d, **options)

    scale = round(float(rng.uniform(0.1, 0.18)), 3)
    above, below = shift_scores(24, 28, 1), shift_scores(24, 28, -1)
    far_below = shift_scores(280, 300, -1)
    return [
        case("whole tiles", 64, 128, 64),
        case("causal", 64, 64, 32, causal=True, focus="causal"),
        case("ragged Nq", 128 + odd(3, 60), 64, focus="M"),
        case("ragged Nk", 64, 128 + odd(3, 60), focus="N"),
        case("fewer keys than a tile", 32, odd(3, 9), 32, focus="N"),
        case("one query", 1, odd(65, 90), 32, focus="MN"),
        case("causal, fewer queries", odd(17, 25), odd(45, 60), causal=True, focus="alignment"),
        case("causal, more queries", odd(45, 60), odd(17, 25), causal=True, focus="empty"),
        case("causal, 157 queries more", 189, 32, causal=True, focus="empty"),
        case("causal, long", odd(150, 170), odd(180, 200), causal=True, focus="alignment"),
        case("causal, one key more", 64, 65, causal=True, focus="alignment"),
        case("batches and heads, dout seen from (B, N, H, D)", 16, odd(17, 32), b=2, h=3,
             dout="bnhd", focus="heads"),
        case("grouped heads", 16, odd(17, 32), h=6, hkv=2, focus="gqa"),
        case("grouped heads, causal", 20, 40, b=2, h=2, hkv=1, causal=True, focus="gqa"),
        case("D = 128", odd(17, 32), odd(33, 60), 128, focus="D"),
        case("causal and negative scale by position", 32, 32, scale=-scale, causal=True,
             by="position", focus="scale"),
        case("gradient of a sum", 32, 48, 32, h=2, dout="single", focus="dout"),
        case("dout transposed", 32, 48, 32, h=2, dout="transposed", focus="dout"),
        case("all but dout seen from (B, N, H, D)", 16, 32, b=2, h=2, q="bnhd", k="bnhd",
             v="bnhd", focus="strides:qkv"),
        case("q expanded, k transposed, v sliced", 32, 48, 32, h=2, q="expanded", k="transposed",
             v="sliced", focus="strides:qkv"),
        case("rows beyond 2³¹ elements", 16, 129, q="far", k="far", v="far", focus="int64"),
        case("heads beyond 2³¹ elements", 16, 16, h=5, q="far", k="far", v="far", dout="far",
             focus="int64"),
        case("scores far above zero", 32, odd(65, 80), change=above, focus="large"),
        case("scores far below zero", 32, odd(65, 80), change=below, focus="below"),
        case("float32, causal", odd(33, 60), odd(65, 90), 32, dtype="float32", causal=True,
             focus="dtype"),
        case("bfloat16", odd(17, 32), odd(33, 60), 32, dtype="bfloat16", focus="dtype"),
        case("many queries", 512 + odd(3, 30), 16, change_dout=_around_one, focus="precision"),
        case("many keys", 16, 512 + odd(3, 30), change=_rising, focus="precision"),
        case("only q requires a gradient, scale given", 16, odd(33, 60), scale=scale, wanted="q",
             focus="scale"),
        case("only k requires a gradient", 16, 32, wanted="k", focus="wanted"),
        case("only v requires a gradient, scale = 0", 16, 32, scale=0.0, wanted="v",
             focus="wanted"),
        case("backward twice", 16, 32, calls=2, focus="again"),
        case("scores about -20000, under torch.no_grad()", odd(17, 25), odd(33, 60),
             change=far_below, causal=True, wanted="", focus="far below"),
    ]  # fmt: skip


# Heads that share a key head may be summed with `sum`, as autograd does for `expand`.
attention = Task(
    _attention_cases, hypotheses, otherwise="gradient_wrong", allowed=frozenset({"sum"})
)
