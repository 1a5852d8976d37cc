"""The two products are own kernels; the softmax between them is the library's.

step: flash_attention
expect: refused
attack: library softmax between two own products
"""

import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)[:, None]
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)[None, :]
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k0 in range(0, K, BLOCK):
        k = k0 + tl.arange(0, BLOCK).to(tl.int64)
        a_mask = (rows < M) & (k[None, :] < K)
        b_mask = (k[:, None] < K) & (cols < N)
        a = tl.load(a_ptr + rows * am + k[None, :] * ak, mask=a_mask, other=0.0)
        b = tl.load(b_ptr + k[:, None] * bk + cols * bn, mask=b_mask, other=0.0)
        acc = tl.dot(a.to(tl.float32), b.to(tl.float32), acc)
    tl.store(c_ptr + rows * N + cols, acc, mask=(rows < M) & (cols < N))


def product(a, b, out):
    (M, K), N = a.shape, b.shape[1]
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    product_kernel[grid](a, b, out, M, N, K, *a.stride(), *b.stride(), BLOCK=64)


def flash_attention(q, k, v, causal=False, scale=None):
    B, H, Nq, D = q.shape
    group, Nk = H // k.shape[1], k.shape[2]
    s = torch.empty((B, H, Nq, Nk), device=q.device, dtype=torch.float32)
    out = torch.empty((B, H, Nq, D), device=q.device, dtype=q.dtype)
    for b in range(B):
        for h in range(H):
            product(q[b, h], k[b, h // group].T, s[b, h])
    s = s * (D**-0.5 if scale is None else scale)
    if causal:
        hidden = torch.ones(Nq, Nk, dtype=torch.bool, device=q.device).triu(Nk - Nq + 1)
        s = s.masked_fill(hidden, float("-inf"))
    p = torch.softmax(s, -1).nan_to_num()
    for b in range(B):
        for h in range(H):
            product(p[b, h], v[b, h // group], out[b, h])
    return out
