"""The function returns an integer.

step: triton_matmul
expect: failed|error
attack: rubbish in place of a tensor
"""


def triton_matmul(a, b):
    return 42
