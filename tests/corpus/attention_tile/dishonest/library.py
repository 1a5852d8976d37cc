"""The library's attention.

step: attention_tile
expect: refused
attack: the work done by scaled_dot_product_attention
"""

import torch


def attention_tile(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0]
