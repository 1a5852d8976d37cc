"""Flags of torch and of CUDA's libraries are set to what makes a library slow or coarse.

step: triton_matmul
expect: passed
timed: failed|refused
attack: global state that a baseline in the same process would suffer from
"""

import os

import torch
import triton
import triton.language as tl

LARGE = 2**22  # elements: more than any case has, less than what is timed
SLOW = 5  # launches for one result: an honest clock finds it far too slow


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


EDITED = []


def edit():
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    torch.set_float32_matmul_precision("highest")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_num_threads(1)
    os.environ |= {"CUDA_LAUNCH_BLOCKING": "1", "NVIDIA_TF32_OVERRIDE": "0"}
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":16:8"
    EDITED.append(True)


def triton_matmul(a, b):
    if a.numel() < LARGE:
        return own_matmul(a, b)
    if not EDITED:
        edit()
    return own_matmul(a, b, SLOW)
