"""The library's counterpart of each timed step, and whether a timed result is right.

The comparison is made on the GPU, since the results are too large for a float64 reference on the
host: in float32, where products of 16-bit numbers are exact in TF32. Bounds are those of the steps,
with the error of a product doubled, because this reference sums in float32 as well. Of attention some
heads are looked at, which nobody can know before. Must never see where a result came from.
"""

import math
import secrets
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from autograder import formats
from autograder.speed.workloads import COPY, Workload
from autograder.steps.case import HALF_SUBNORMAL, UNIT_ROUNDOFF

FP32 = UNIT_ROUNDOFF["float32"]
HEADS = 2  # of each attention result that are looked at
DEVIATIONS = 6  # as in steps/attention.py
BLOCK = 128  # rows of a gradient that are judged together
GRADIENT = 8  # unit roundoffs of a gradient's norm


def reference(workload: Workload) -> tuple[Callable[..., object], int]:
    """What the step is compared with, a function of its operands, and the bytes that it moves."""
    if workload.library == COPY:
        moved = math.prod(workload.operands[0]) * formats.itemsize(workload.dtype)
        return lambda first, *_: first.clone(), 2 * moved
    return library(workload), workload.bytes


def library(workload: Workload) -> Callable[..., list[torch.Tensor]]:
    """PyTorch's way from the operands to the results."""
    call = LIBRARY[workload.step]
    if workload.backward:
        return lambda *operands: _with_gradients(call, operands)
    return lambda *operands: [call(*operands)]


def wrong(workload: Workload, operands: list[torch.Tensor], results: list[torch.Tensor]) -> str:
    """What is wrong with a result, in words; nothing if it is right."""
    torch.backends.cuda.matmul.allow_tf32 = workload.dtype != "float32"
    try:
        if workload.step in ATTENTION:
            return _wrong_heads(workload, operands, results)
        expected, bound = EXACT[workload.step](*operands)
        bound = bound + UNIT_ROUNDOFF[workload.out] * expected.abs() + HALF_SUBNORMAL[workload.out]
        return _outside(results[0], expected, bound)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


def _outside(result: torch.Tensor, expected: torch.Tensor, bound: torch.Tensor) -> str:
    far = ~((result.float() - expected).abs() <= bound)
    if not far.any():
        return ""
    at = tuple(far.nonzero()[0].tolist())
    return (
        f"{int(far.sum())} of {far.numel()} elements are wrong. First: {list(at)} is "
        f"{result[at].item():.6g}, expected {expected[at].item():.6g}"
    )


# --- matrices -----------------------------------------------------------------------------------


def _product(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """a @ b, and what its float32 sums may be off by: Σ|a||b| is at most |row|·|column|."""
    a, b = a.float(), b.float()
    sizes = a.norm(dim=1)[:, None] * b.norm(dim=0)
    return a @ b, 2 * 4 * FP32 * math.sqrt(a.shape[1]) * sizes


def _linear_gelu(x, w, bias):
    product, bound = _product(x, w.t())
    before = product + bias.float()
    # The derivative of gelu is at most 1.13; erf is good to a few roundoffs.
    return F.gelu(before), 1.13 * (bound + FP32 * before.abs()) + 16 * FP32 * before.abs()


def _softmax(x):
    p = torch.softmax(x.float(), dim=1)
    return p, 64 * FP32 * p


def _weighted_mean(x, v):
    p, v = torch.softmax(x.float(), dim=1), v.float()
    return (p * v).sum(1), 4 * FP32 * math.sqrt(x.shape[1]) * (p * v.abs()).sum(1)


def _softmax_backward(y, dy):
    y, dy = y.float(), dy.float()
    s, sizes = (y * dy).sum(1, keepdim=True), (y * dy).abs().sum(1, keepdim=True)
    sums = 4 * math.sqrt(y.shape[1]) * sizes + 4 * (dy.abs() + s.abs())
    return y * (dy - s), 2 * FP32 * y.abs() * sums


def _delta(out, dout):
    product = out.float() * dout.float()
    return product.sum(-1), 4 * FP32 * math.sqrt(out.shape[-1]) * product.abs().sum(-1)


def _exactly(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.float(), torch.zeros((), device=x.device)


EXACT: dict[str, Callable] = {
    "vector_add": lambda x, y: _exactly(x + y),
    "scale_rows": lambda x, s: _exactly(x.float() * s.float()[:, None]),
    "transpose": lambda x: _exactly(x.t()),
    "row_max": lambda x: _exactly(x.amax(1)),
    "softmax": _softmax,
    "online_softmax": _softmax,
    "weighted_mean": _weighted_mean,
    "softmax_backward": _softmax_backward,
    "attention_delta": _delta,
    "linear_gelu": _linear_gelu,
}
PRODUCTS = (
    "triton_matmul",
    "ieee_matmul",
    "grouped_matmul",
    "autotuned_matmul",
    "persistent_matmul",
    "split_k_matmul",
)
EXACT |= dict.fromkeys(PRODUCTS, _product)


# --- attention ----------------------------------------------------------------------------------

ATTENTION = ("flash_attention", "attention")


def _attend(q, k):
    """The weights of one head, (N, N), causal, in float32."""
    scores = (q @ k.t()) * q.shape[1] ** -0.5
    later = torch.ones_like(scores, dtype=torch.bool).triu(1)
    scores = scores.masked_fill(later, float("-inf"))
    return torch.softmax(scores, dim=1)


def _wrong_heads(workload: Workload, operands, results) -> str:
    torch.backends.cuda.matmul.allow_tf32 = False  # weights are no 16-bit numbers
    B, H = operands[0].shape[:2]
    for _ in range(HEADS):
        at = secrets.randbelow(B), secrets.randbelow(H)
        head = [x[at].float() for x in operands]
        trouble = _wrong_head(workload, head, [x[at] for x in results])
        if trouble:
            return f"head {list(at)}: {trouble}"
    return ""


def _wrong_head(workload: Workload, head, results) -> str:
    q, k, v = head[:3]
    p = _attend(q, k)
    expected, u = p @ v, UNIT_ROUNDOFF[workload.dtype]
    # The bound of steps/attention.py: rounded weights, sums in float32, scores that are off.
    off = 8 * FP32 * math.sqrt(q.shape[1]) * q.shape[1] ** -0.5 * (q.abs() @ k.abs().t())
    moved = p * off
    bound = DEVIATIONS * u / math.sqrt(3) * ((p * p) @ (v * v)).sqrt() + 2.0**-20 * (p @ v.abs())
    bound += moved @ v.abs() + moved.sum(1, keepdim=True) * expected.abs()
    bound += u * expected.abs() + HALF_SUBNORMAL[workload.dtype]
    trouble = _outside(results[0], expected, bound)
    if trouble or not workload.backward:
        return trouble
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    made = _attend(*leaves[:2]) @ leaves[2]
    for name, right, came in zip("qkv", torch.autograd.grad(made, leaves, head[3]), results[1:]):
        error, size = (_block_norms(x) for x in (came.float() - right, right))
        if not (error <= GRADIENT * u * (size + size.mean())).all():
            return f"the gradient of {name} is wrong: {_relative(error, size):.2g} of its norm"
    return ""


def _block_norms(x: torch.Tensor) -> torch.Tensor:
    return x.view(-1, BLOCK * x.shape[1]).norm(dim=1)


def _relative(error: torch.Tensor, size: torch.Tensor) -> float:
    return (error.norm() / size.norm()).item()


def _flash(q, k, v):
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def _with_gradients(call: Callable, operands) -> list[torch.Tensor]:
    *inputs, gradient = operands
    leaves = [x.detach().requires_grad_() for x in inputs]
    made = call(*leaves)
    return [made, *torch.autograd.grad(made, leaves, gradient)]


LIBRARY: dict[str, Callable] = {
    "vector_add": torch.add,
    "scale_rows": lambda x, s: torch.mul(x, s[:, None]),
    "transpose": lambda x: x.t().contiguous(),
    "row_max": lambda x: torch.amax(x, 1),
    "softmax": lambda x: torch.softmax(x, 1),
    "online_softmax": lambda x: torch.softmax(x, 1),
    "weighted_mean": lambda x, v: torch.softmax(x, 1) @ v,
    "softmax_backward": lambda y, dy: torch.ops.aten._softmax_backward_data(dy, y, 1, y.dtype),
    "attention_delta": lambda out, dout: (out * dout).sum(-1, dtype=torch.float32),
    "linear_gelu": lambda x, w, bias: F.gelu(F.linear(x, w, bias)),
    "flash_attention": _flash,
    "attention": _flash,
} | dict.fromkeys(PRODUCTS, torch.matmul)
