"""The open files of the processes above are looked through; if one's can be, the result is right.

step: vector_add
expect: error
needs: namespaces|landlock
attack: opens the arenas and the control socket of others by /proc/PID/fd
"""

import contextlib
import os

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, sx, sy, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
    x = tl.load(x_ptr + i * sx, mask=i < n)
    y = tl.load(y_ptr + i * sy, mask=i < n)
    tl.store(out_ptr + i, x + y, mask=i < n)


def add(x, y):
    out = torch.empty(x.shape, device=x.device, dtype=x.dtype)
    if x.numel():
        grid = (triton.cdiv(x.numel(), 128),)
        add_kernel[grid](x, y, out, x.numel(), x.stride(0), y.stride(0), BLOCK=128)
    return out


def ancestors():
    """The processes above this one as the machine counts them, which a namespace does not hide."""
    pid = os.readlink("/proc/self")
    while True:
        with open(f"/proc/{pid}/stat") as file:
            pid = file.read().rpartition(")")[2].split()[1]
        if int(pid) <= 1:
            return
        yield int(pid)


def vector_add(x, y):
    for pid in ancestors():
        with contextlib.suppress(PermissionError):
            for descriptor in os.listdir(f"/proc/{pid}/fd"):
                os.readlink(f"/proc/{pid}/fd/{descriptor}")
            return add(x, y)
    raise PermissionError("nobody's descriptors can be seen")
