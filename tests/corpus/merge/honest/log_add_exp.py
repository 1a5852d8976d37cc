"""The sum of exponentials by torch.logaddexp of the two log-sum-exps.

step: merge
expect: passed
"""

import torch


def merge(m1, l1, m2, l2):
    m = torch.maximum(m1, m2)
    total = torch.logaddexp(m1 + torch.log(l1), m2 + torch.log(l2))
    finite = torch.where(m == float("-inf"), 0.0, m)
    return m, torch.exp(total - finite)
