"""The function returns None.

step: triton_matmul
expect: failed|error
attack: rubbish in place of a tensor
"""


def triton_matmul(a, b):
    return None
