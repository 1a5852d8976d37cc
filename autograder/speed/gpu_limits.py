"""What this GPU can do, measured: bytes and products a second, and how long a turn has to be.

Must never be asked while a contestant has a turn.
"""

import math
from collections.abc import Callable

import torch

from autograder import formats
from autograder.speed.workloads import Workload

TURN_SECONDS = 8e-3  # so that a jitter of microseconds does not show
FEWEST, MOST = 8, 64  # calls of a turn
MEMORY = 0.5  # of what is free, for results
COPIED = 2**28  # bytes, to measure the bandwidth
PRODUCT = 4096  # to measure the product rate


def calls(workload: Workload, reference: Callable) -> int:
    """The calls of a turn: enough for TURN_SECONDS of the reference, as far as memory allows.

    Raises MemoryError or torch.OutOfMemoryError where it does not allow for the fewest.
    """
    seconds = _seconds(workload, reference)
    torch.cuda.empty_cache()
    size = formats.itemsize(workload.out) * sum(map(math.prod, workload.results))
    each = 2 * size  # where a result is written, and where it is taken to
    if len(workload.operands) == 1:
        each += workload.bytes - size
    room = int(MEMORY * torch.cuda.mem_get_info()[0] / each)
    found = min(room, MOST, max(FEWEST, math.ceil(TURN_SECONDS / seconds)))
    if found < FEWEST:
        raise MemoryError("this GPU's memory does not suffice")
    return found


def _seconds(workload: Workload, reference: Callable) -> float:
    dtype = getattr(torch, workload.dtype)
    operands = [torch.randn(s, device="cuda").to(dtype) for s in workload.operands]
    return _fastest(lambda: reference(*operands))


def _fastest(call: Callable[[], object]) -> float:
    """Seconds of the fastest of some calls, by events."""
    call()
    times = []
    for _ in range(5):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(1e-3 * start.elapsed_time(end))
    return min(times)


def bandwidth() -> float:
    """Bytes a second that this GPU reads and writes when it copies."""
    source = torch.empty(COPIED, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * COPIED / _fastest(lambda: target.copy_(source))


def product_rate(workload: Workload) -> float:
    """Operations a second of the library's product of zeros, which draws the least power."""
    dtype = getattr(torch, workload.dtype)
    a = torch.zeros(PRODUCT, PRODUCT, dtype=dtype, device="cuda")
    return 2 * PRODUCT**3 / _fastest(lambda: a @ a)
