"""Empty tensors on no device count their own bytes.

step: shared_memory_bytes
expect: passed
"""

import torch


def shared_memory_bytes(block_m, block_n, block_k, itemsize, num_stages):
    a = torch.empty(num_stages, block_m, block_k, device="meta")
    b = torch.empty(num_stages, block_k, block_n, device="meta")
    return (a.numel() + b.numel()) * itemsize
