"""After each timed call a second stream is given half a second of copying, which outlasts the turn.

step: softmax
expect: passed
timed: failed|refused
attack: a slow baseline: work left in the queue while the library is timed
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


SIDE, SPENT = [], [0]


def softmax(x):
    if x.numel() < LARGE:
        return own_softmax(x)
    if not SIDE:
        SIDE.append((torch.cuda.Stream(), x.clone(), x.clone()))
    out = own_softmax(x, SLOW)
    stream, left, right = SIDE[0]
    with torch.cuda.stream(stream):
        for _ in range(50 if SPENT[0] < 2000 else 0):
            left.copy_(right)
            SPENT[0] += 1
    return out
