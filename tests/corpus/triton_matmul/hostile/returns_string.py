"""The function returns the string "passed".

step: triton_matmul
expect: failed|error
attack: rubbish in place of a tensor
"""


def triton_matmul(a, b):
    return "passed"
