"""The number claims to be equal, near and smaller, whatever it is compared with.

step: matmul_tflops
expect: failed
attack: a value that any comparison finds right
"""


class Pleasing(float):
    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__
    __hash__ = float.__hash__

    def __le__(self, other):
        return True


def matmul_tflops(M, N, K, ms):
    return Pleasing(1.0)
