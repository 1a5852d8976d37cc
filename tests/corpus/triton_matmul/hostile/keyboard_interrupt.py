"""The function raises KeyboardInterrupt.

step: triton_matmul
expect: error|crashed
attack: an exception that `except Exception` does not catch
"""


def triton_matmul(a, b):
    raise KeyboardInterrupt
