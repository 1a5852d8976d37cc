"""Whether this machine has a GPU that Triton could use, found without importing torch.

Must never initialise a GPU context: the process that asks may fork afterwards.
"""

import ctypes
import functools
from pathlib import Path


def has_gpu() -> bool:
    """True if the NVIDIA driver counts at least one device, or an AMD compute node is there."""
    return _nvidia_devices() > 0 or Path("/dev/kfd").exists()


@functools.cache
def gpu_name() -> str:
    """What the first GPU calls itself, such as "NVIDIA H200"; "GPU" where nobody says."""
    name = ctypes.create_string_buffer(100)
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        if driver.cuInit(0) or driver.cuDeviceGetName(name, len(name), 0):
            return "GPU"
    except OSError:
        return "GPU"
    return name.value.decode(errors="replace")


def _nvidia_devices() -> int:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value
