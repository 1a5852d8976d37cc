"""One config leaves out half of a long K; it is the fastest, so the tuner takes it where only speed is asked.

step: autotuned_matmul
expect: passed
timed: failed|refused
attack: the tuner is given a wrong config to prefer at the timed size
"""

import torch
import triton
import triton.language as tl

LONG = tl.constexpr(2048)  # more than K has in any case


CONFIGS = [
    triton.Config({"B": 64, "BK": 32}, num_warps=4),
    triton.Config({"B": 128, "BK": 64}, num_warps=8),
]


@triton.autotune(configs=CONFIGS, key=["M", "N", "K"])
@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, B: tl.constexpr, BK: tl.constexpr):
    rows = (tl.program_id(0) % tl.cdiv(M, B)) * B + tl.arange(0, B).to(tl.int64)[:, None]
    cols = (tl.program_id(0) // tl.cdiv(M, B)) * B + tl.arange(0, B).to(tl.int64)[None, :]
    acc = tl.zeros((B, B), dtype=tl.float32)
    stop = tl.where(K >= LONG, K // 2, K) if BK == 64 else K
    for k0 in range(0, stop, BK):
        k = k0 + tl.arange(0, BK).to(tl.int64)
        a_mask = (rows < M) & (k[None, :] < K)
        b_mask = (k[:, None] < K) & (cols < N)
        a = tl.load(a_ptr + rows * am + k[None, :] * ak, mask=a_mask, other=0.0)
        b = tl.load(b_ptr + k[:, None] * bk + cols * bn, mask=b_mask, other=0.0)
        acc = tl.dot(a, b, acc)
    in_c = (rows < M) & (cols < N)
    tl.store(c_ptr + rows * N + cols, acc.to(c_ptr.dtype.element_ty), mask=in_c)


def autotuned_matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)

    def grid(meta):
        return (triton.cdiv(M, meta["B"]) * triton.cdiv(N, meta["B"]),)

    matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride())
    return c
