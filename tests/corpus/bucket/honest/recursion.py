"""Half the rows, twice the bucket.

step: bucket
expect: passed
"""


def bucket(M):
    if M <= 16:
        return 16
    return min(2 * bucket((M + 1) // 2), 4096)
