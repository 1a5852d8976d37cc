"""Both operands are filled up with zeros to whole blocks.

step: blockwise_matmul
expect: passed
"""

import torch
import torch.nn.functional as F


def blockwise_matmul(a, b, block_size):
    (M, K), N, s = a.shape, b.shape[1], block_size
    a = F.pad(a.float(), (0, -K % s, 0, -M % s))
    b = F.pad(b.float(), (0, -N % s, 0, -K % s))
    c = torch.zeros(a.shape[0], b.shape[1])
    for i in range(0, c.shape[0], s):
        for j in range(0, c.shape[1], s):
            for k in range(0, a.shape[1], s):
                left, right = a[i : i + s, k : k + s], b[k : k + s, j : j + s]
                c[i : i + s, j : j + s] += (left[:, :, None] * right[None]).sum(dim=1)
    return c[:M, :N].contiguous()
