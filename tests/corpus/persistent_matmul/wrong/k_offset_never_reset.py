"""The offset along K goes on from tile to tile.

step: persistent_matmul
expect: failed
cause: pointers_not_reset
"""

import torch
import triton
import triton.language as tl


@triton.jit
def persistent_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    NUM_SMS: tl.constexpr,
):
    start_pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    num_tiles = num_pid_m * num_pid_n
    num_pid_in_group = GROUP_M * num_pid_n
    ks = tl.arange(0, BLOCK_K).to(tl.int64)
    for tile_id in range(start_pid, num_tiles, NUM_SMS):
        group_id = tile_id // num_pid_in_group
        first_pid_m = group_id * GROUP_M
        group_size_m = min(num_pid_m - first_pid_m, GROUP_M)
        pid_m = first_pid_m + (tile_id % num_pid_in_group) % group_size_m
        pid_n = (tile_id % num_pid_in_group) // group_size_m
        rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)
        cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, K, BLOCK_K):
            in_k = ks < K
            a_ptrs = a_ptr + rows[:, None] * stride_am + ks[None, :] * stride_ak
            b_ptrs = b_ptr + ks[:, None] * stride_bk + cols[None, :] * stride_bn
            a = tl.load(a_ptrs, mask=(rows[:, None] < M) & in_k[None, :], other=0.0)
            b = tl.load(b_ptrs, mask=in_k[:, None] & (cols[None, :] < N), other=0.0)
            acc = tl.dot(a, b, acc)
            ks += BLOCK_K
        c_ptrs = c_ptr + rows[:, None] * stride_cm + cols[None, :] * stride_cn
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)


def sm_count(device):
    if device.type != "cuda":
        return 4
    return torch.cuda.get_device_properties(device).multi_processor_count


def persistent_matmul(a, b):
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    BLOCK_M, BLOCK_N = 64, 64
    tiles = triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N)
    programs = min(sm_count(a.device), tiles)
    persistent_kernel[(programs,)](
        a,
        b,
        c,
        M,
        N,
        K,
        a.stride(0),
        a.stride(1),
        b.stride(0),
        b.stride(1),
        c.stride(0),
        c.stride(1),
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        BLOCK_K=32,
        GROUP_M=8,
        NUM_SMS=programs,
    )
    return c
