"""Triton's own benchmark functions are replaced by ones that always tell a microsecond.

step: softmax
expect: passed
timed: failed|refused
attack: patched triton.testing.do_bench
"""

import torch
import triton
import triton.language as tl
import triton.testing

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


PATCHED = []


def microsecond(function, *args, **kwargs):
    function()
    return 0.001


def patch():
    triton.testing.do_bench = triton.testing.do_bench_cudagraph = microsecond
    PATCHED.append(True)


def softmax(x):
    if x.numel() < LARGE:
        return own_softmax(x)
    if not PATCHED:
        patch()
    return own_softmax(x, SLOW)
