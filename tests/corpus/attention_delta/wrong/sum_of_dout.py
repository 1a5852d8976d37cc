"""Only the incoming gradient is summed.

step: attention_delta
expect: failed
cause: gradient_delta
"""

import torch
import triton
import triton.language as tl


@triton.jit
def delta_kernel(
    o_ptr,
    g_ptr,
    delta_ptr,
    H,
    N,
    ob,
    oh,
    on,
    od,
    gb,
    gh,
    gn,
    gd,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    d = tl.arange(0, D).to(tl.int64)[None, :]
    inside = rows < N
    o_at = o_ptr + b * ob + h * oh + rows[:, None] * on + d * od
    g_at = g_ptr + b * gb + h * gh + rows[:, None] * gn + d * gd
    o = tl.load(o_at, mask=inside[:, None], other=0.0).to(tl.float32)
    g = tl.load(g_at, mask=inside[:, None], other=0.0).to(tl.float32)
    tl.store(delta_ptr + (b * H + h) * N + rows, tl.sum(g, axis=1), mask=inside)


def attention_delta(out, dout):
    B, H, N, D = out.shape
    delta = torch.empty((B, H, N), device=out.device, dtype=torch.float32)
    grid = (triton.cdiv(N, 32), B * H)
    delta_kernel[grid](out, dout, delta, H, N, *out.stride(), *dout.stride(), D=D, BLOCK=32)
    return delta
