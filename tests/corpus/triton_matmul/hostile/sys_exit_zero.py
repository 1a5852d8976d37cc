"""The function raises SystemExit(0).

step: triton_matmul
expect: error|crashed
attack: sys.exit(0) from the step
"""

import sys


def triton_matmul(a, b):
    sys.exit(0)
