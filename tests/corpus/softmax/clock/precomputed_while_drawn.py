"""A thread follows the drawing of fresh inputs and computes every second one before the clock starts.

step: softmax
expect: passed
timed: failed|refused
attack: half of the results made between the drawing of the inputs and the start of the clock
"""

import threading
import time

import torch
import triton
import triton.language as tl

LARGE = 2**22  # elements: more than any case has, less than what is timed
TWICE = 2  # launches for one result: an honest clock finds it too slow


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


KNOWN, READY, STARTED = {}, {}, []  # by address: inputs passed until now, and results made ahead


def drawn(x, old, end):
    """Waits until the first number of an input is another one; false when time is up."""
    while x[0, 0].item() == old:
        if time.monotonic() > end:
            return False
    return True


def follow():
    end = time.monotonic() + 60
    with torch.cuda.stream(torch.cuda.Stream()):
        while time.monotonic() < end:
            pool = [KNOWN[address] for address in sorted(KNOWN)]  # it is drawn in this order
            old = [x[0, 0].item() for x in pool]
            for i in range(0, len(pool) - 1, 2):
                if not drawn(pool[i + 1], old[i + 1], end):  # then the one before it is complete
                    return
                if i == 0:
                    READY.clear()
                made = own_softmax(pool[i], TWICE)
                torch.cuda.current_stream().synchronize()
                READY[pool[i].data_ptr()] = made


def softmax(x):
    if x.numel() < LARGE:
        return own_softmax(x)
    KNOWN[x.data_ptr()] = x
    if not STARTED:
        STARTED.append(threading.Thread(target=follow, daemon=True))
        STARTED[0].start()
    made = READY.pop(x.data_ptr(), None)
    return own_softmax(x, TWICE) if made is None else made
