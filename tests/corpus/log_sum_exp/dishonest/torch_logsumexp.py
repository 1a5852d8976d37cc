"""The library computes the result.

step: log_sum_exp
expect: refused
attack: library reduction
"""

import torch


def log_sum_exp(x):
    return torch.logsumexp(x.float(), dim=1)
