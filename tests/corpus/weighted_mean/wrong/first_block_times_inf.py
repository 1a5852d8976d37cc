"""An empty block is scaled by exp of infinity.

step: weighted_mean
expect: failed
cause: empty_block
told: normaliser_wrong
"""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, v_ptr, out_ptr, C, sr, sc, sv, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    m = tl.full((), float("-inf"), tl.float32)
    l = tl.full((), 0.0, tl.float32)
    acc = tl.full((), 0.0, tl.float32)
    for start in range(0, C, BLOCK):
        inside = cols < C - start
        x = tl.load(x_ptr + row * sr + (start + cols) * sc, mask=inside, other=float("-inf")).to(tl.float32)
        v = tl.load(v_ptr + (start + cols) * sv, mask=inside, other=0.0).to(tl.float32)
        new = tl.maximum(m, tl.max(x, axis=0))
        base = tl.where(new == float("-inf"), 0.0, new)
        p = tl.exp(x - base)
        a = tl.exp(m - base)
        l = l * a + tl.sum(p, axis=0)
        acc = acc * a + tl.sum(p * v, axis=0)
        m = base
    tl.store(out_ptr + row, acc / tl.where(l == 0.0, 1.0, l))


def weighted_mean(x, v):
    R, C = x.shape
    out = torch.empty((R,), dtype=x.dtype, device=x.device)
    kernel[(R,)](x, v, out, C, *x.stride(), *v.stride(), BLOCK=min(triton.next_power_of_2(C), 2048))
    return out
