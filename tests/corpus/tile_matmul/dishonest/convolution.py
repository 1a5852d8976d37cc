"""A convolution with one-element filters is the same product.

step: tile_matmul
expect: refused
attack: library convolution in place of a kernel
"""

import torch


def tile_matmul(a, b):
    images = a.float().t()[None]
    filters = b.float().t()[:, :, None]
    return torch.nn.functional.conv1d(images, filters)[0].t().contiguous()
