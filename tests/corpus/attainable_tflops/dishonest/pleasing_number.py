"""The number claims to be equal, near and smaller, whatever it is compared with.

step: attainable_tflops
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


def attainable_tflops(intensity, peak_tflops, bandwidth_tb_s):
    return Pleasing(1.0)
