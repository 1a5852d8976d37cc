"""As precomputed_pairs, but only every second pair is made ahead, so that the time looks plausible.

step: triton_matmul
expect: passed
timed: failed|refused
attack: half of the results made before the clock starts: no floor of the hardware is broken
"""

import threading
import time

import torch
import triton
import triton.language as tl

LARGE = 2**22  # elements: more than any case has, less than what is timed
TWICE = 2  # launches for one result: an honest clock finds it too slow


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, B: tl.constexpr, BK: tl.constexpr):
    rows = (tl.program_id(0) % tl.cdiv(M, B)) * B + tl.arange(0, B).to(tl.int64)[:, None]
    cols = (tl.program_id(0) // tl.cdiv(M, B)) * B + tl.arange(0, B).to(tl.int64)[None, :]
    acc = tl.zeros((B, B), dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK).to(tl.int64)
        a_mask = (rows < M) & (k[None, :] < K)
        b_mask = (k[:, None] < K) & (cols < N)
        a = tl.load(a_ptr + rows * am + k[None, :] * ak, mask=a_mask, other=0.0)
        b = tl.load(b_ptr + k[:, None] * bk + cols * bn, mask=b_mask, other=0.0)
        acc = tl.dot(a, b, acc)
    in_c = (rows < M) & (cols < N)
    tl.store(c_ptr + rows * N + cols, acc.to(c_ptr.dtype.element_ty), mask=in_c)


def own_matmul(a, b, launches=1):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(M, 128) * triton.cdiv(N, 128),)
    tile = {"B": 128, "BK": 128 // a.element_size(), "num_warps": 8}
    for _ in range(launches):
        matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), **tile)
    return c


LEFT, RIGHT = {}, {}  # by address: what has been passed until now
READY, STARTED = {}, []


def marks():
    """A few numbers of every input known, which change when fresh ones are drawn."""
    return torch.stack([t[0, :4] for t in (*LEFT.values(), *RIGHT.values())]).tolist()


def look_ahead():
    stream, end, seen = torch.cuda.Stream(), time.monotonic() + 60, None
    with torch.cuda.stream(stream):
        while time.monotonic() < end:
            time.sleep(0.001)
            now = marks()
            if now == seen:
                continue
            seen = now
            READY.clear()
            for i, (left, a) in enumerate(list(LEFT.items())[:8]):
                for right, b in list(RIGHT.items())[i % 2 : 8 : 2]:
                    c = own_matmul(a, b, TWICE)
                    stream.synchronize()
                    READY[left, right] = c


def triton_matmul(a, b):
    if a.numel() < LARGE:
        return own_matmul(a, b)
    LEFT[a.data_ptr()], RIGHT[b.data_ptr()] = a, b
    if not STARTED:
        STARTED.append(threading.Thread(target=look_ahead, daemon=True))
        STARTED[0].start()
    c = READY.pop((a.data_ptr(), b.data_ptr()), None)
    return own_matmul(a, b, TWICE) if c is None else c
