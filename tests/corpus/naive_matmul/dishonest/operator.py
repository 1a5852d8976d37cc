"""The operator does it.

step: naive_matmul
expect: refused
attack: `@`
"""


def naive_matmul(a, b):
    return (a.float() @ b.float()).contiguous()
