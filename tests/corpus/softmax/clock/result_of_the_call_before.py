"""A timed call starts its own work on a second stream and returns the result of the call before.

step: softmax
expect: passed
timed: failed|refused
attack: a pipeline that is one call late
"""

import torch
import triton
import triton.language as tl

LARGE = 2**22  # elements: more than any case has, less than what is timed
SLOW = 5  # launches for one result: an honest clock finds it far too slow


@triton.jit
def softmax_kernel(x_ptr, out_ptr, C, stride_r, stride_c, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK).to(tl.int64)
    x = tl.load(x_ptr + row * stride_r + cols * stride_c, mask=cols < C, other=float("-inf"))
    e = tl.exp(x.to(tl.float32) - tl.max(x.to(tl.float32), axis=0))
    tl.store(out_ptr + row * C + cols, e / tl.sum(e, axis=0), mask=cols < C)


def own_softmax(x, launches=1):
    R, C = x.shape
    out = torch.empty((R, C), dtype=x.dtype, device=x.device)
    for _ in range(launches):
        softmax_kernel[(R,)](x, out, C, *x.stride(), BLOCK=triton.next_power_of_2(C))
    return out


SIDE, BEFORE = [], []


def softmax(x):
    if x.numel() < LARGE:
        return own_softmax(x)
    if not SIDE:
        SIDE.append(torch.cuda.Stream())
    with torch.cuda.stream(SIDE[0]):
        BEFORE.append(own_softmax(x, SLOW))
    return BEFORE.pop(0) if len(BEFORE) > 1 else BEFORE[0].clone()
