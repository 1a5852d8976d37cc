"""The result is an object that equals everything and has the attributes of a tensor.

step: triton_matmul
expect: failed|error
attack: an object in place of a tensor
"""


class Pleasing:
    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype

    def __getattr__(self, name):
        return lambda *args, **kwargs: self

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


def triton_matmul(a, b):
    return Pleasing((a.shape[0], b.shape[1]), a.dtype)
