"""The maximum is replaced before the correction is computed from it.

step: online_softmax
expect: failed
cause: rescale_missing
"""

import torch
import triton
import triton.language as tl


@triton.jit
def online_kernel(x_ptr, out_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    row_ptr = x_ptr + row * stride_r
    m = tl.full((), float("-inf"), tl.float32)
    total = tl.full((), 0.0, tl.float32)
    for start in range(0, C, BLOCK):
        offsets = (start + cols) * stride_c
        x = tl.load(row_ptr + offsets, mask=cols < C - start, other=float("-inf"))
        x = x.to(tl.float32)
        new_m = tl.maximum(m, tl.max(x, axis=0))
        base = tl.where(new_m == float("-inf"), 0.0, new_m)
        m = new_m
        total = total * tl.exp(tl.where(m == float("-inf"), 0.0, m) - base) + tl.sum(
            tl.exp(x - base), axis=0
        )
    for start in range(0, C, BLOCK):
        offsets = (start + cols) * stride_c
        x = tl.load(row_ptr + offsets, mask=cols < C - start, other=float("-inf"))
        y = tl.exp(x.to(tl.float32) - m) / total
        tl.store(out_ptr + row * C + start + cols, y, mask=cols < C - start)


def online_softmax(x):
    R, C = x.shape
    out = torch.empty((R, C), dtype=x.dtype, device=x.device)
    online_kernel[(R,)](x, out, C, x.stride(0), x.stride(1), BLOCK=256)
    return out
