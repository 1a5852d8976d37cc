"""The function returns a nested list.

step: triton_matmul
expect: failed|error
attack: rubbish in place of a tensor
"""


def triton_matmul(a, b):
    return [[1.0] * b.shape[1]] * a.shape[0]
