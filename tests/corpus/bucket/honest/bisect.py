"""Binary search in the list of buckets.

step: bucket
expect: passed
"""

from bisect import bisect_left

BUCKETS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


def bucket(M):
    return BUCKETS[min(bisect_left(BUCKETS, M), len(BUCKETS) - 1)]
