"""The product is made inside an operator of the submission's own.

step: blockwise_matmul
expect: refused
attack: torch.matmul inside torch.library.custom_op
"""

import torch


@torch.library.custom_op("course::product", mutates_args=())
def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.matmul(a.float(), b.float())


def blockwise_matmul(a, b, block_size):
    return product(a, b)
