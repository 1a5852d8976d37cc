"""Every exception is swallowed in an endless loop, a grader's interrupt too.

step: vector_add
expect: timed_out|crashed
attack: time limits built on exceptions
"""


def vector_add(x, y):
    while True:
        try:
            while True:
                pass
        except BaseException:  # noqa: BLE001, S112
            continue
