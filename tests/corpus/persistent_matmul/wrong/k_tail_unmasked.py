"""Neither load is masked along K.

step: persistent_matmul
expect: failed
cause: k_tail_unmasked
"""

import triton
import triton.language as tl


@triton.jit
def worker(
    A,
    B,
    C,
    M,
    N,
    K,
    a0,
    a1,
    b0,
    b1,
    TM: tl.constexpr,
    TN: tl.constexpr,
    TK: tl.constexpr,
    GROUP: tl.constexpr,
):
    tiles_m = tl.cdiv(M, TM)
    tiles_n = tl.cdiv(N, TN)
    total = tl.zeros((TM, TN), dtype=tl.float32)
    tile = tl.program_id(0)
    while tile < tiles_m * tiles_n:
        width = GROUP * tiles_n
        first = tile // width * GROUP
        height = min(tiles_m - first, GROUP)
        tile_m = first + tile % width % height
        tile_n = tile % width // height
        m = tile_m * TM + tl.arange(0, TM).to(tl.int64)[:, None]
        n = tile_n * TN + tl.arange(0, TN).to(tl.int64)[None, :]
        total = tl.zeros((TM, TN), dtype=tl.float32)
        for start in range(0, K, TK):
            k = start + tl.arange(0, TK).to(tl.int64)
            a = tl.load(A + m * a0 + k[None, :] * a1, mask=(m < M) & (k[None, :] >= 0), other=0.0)
            b = tl.load(B + k[:, None] * b0 + n * b1, mask=(k[:, None] >= 0) & (n < N), other=0.0)
            total = tl.dot(a, b, total)
        tl.store(C + m * N + n, total.to(C.dtype.element_ty), mask=(m < M) & (n < N))
        tile += tl.num_programs(0)


def persistent_matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = a.new_empty((M, N))
    tiles = triton.cdiv(M, 128) * triton.cdiv(N, 32)
    programs = min(tiles, 6)
    worker[(programs,)](a, b, c, M, N, K, *a.stride(), *b.stride(), TM=128, TN=32, TK=64, GROUP=4)
    return c
