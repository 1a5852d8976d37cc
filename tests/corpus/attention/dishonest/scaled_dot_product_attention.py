"""The library's attention, which brings its own backward.

step: attention
expect: refused
attack: the whole by the library
"""

import torch


def attention(q, k, v, causal=False, scale=None):
    Nq, Nk = q.shape[2], k.shape[2]
    mask = torch.ones(Nq, Nk, dtype=torch.bool, device=q.device)
    mask = mask.tril(Nk - Nq) if causal else mask
    out = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, mask, scale=scale, enable_gqa=True
    )
    return torch.where(mask.any(dim=1)[:, None], out, 0.0)
