"""By the number of bits.

step: bucket
expect: passed
"""


def bucket(M):
    return 1 << (min(max(M, 16), 4096) - 1).bit_length()
