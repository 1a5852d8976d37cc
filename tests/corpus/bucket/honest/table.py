"""The first of nine buckets that is large enough.

step: bucket
expect: passed
"""

BUCKETS = [2**k for k in range(4, 13)]


def bucket(M):
    return next((power for power in BUCKETS if M <= power), BUCKETS[-1])
