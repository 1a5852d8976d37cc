"""GPU memory that two processes share, passed from one to the other as a file descriptor.

The referee of speed makes it; the contestant, in namespaces of its own, maps it. NVIDIA's driver
calls this virtual memory management; unlike its older handles, which name a process, a descriptor
works across namespaces. Must never hold anything that the contestant may not read or change.
"""

import ctypes
import math
from dataclasses import dataclass

DEVICE, PINNED, FILE_DESCRIPTOR, READ_WRITE = 1, 1, 1, 3  # of CUmemLocation… and CUmemAccess…


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _Properties(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("windows", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class _Access(ctypes.Structure):
    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


class NotShared(Exception):
    """This GPU's driver does not share memory between processes in this way."""


def _driver(function: str, *arguments) -> None:
    """Calls NVIDIA's driver. Raises MemoryError where memory is short, NotShared for all else."""
    failed = ctypes.CDLL("libcuda.so.1")[function](*arguments)
    if failed == 2:
        raise MemoryError("this GPU's memory does not suffice")
    if failed:
        raise NotShared(f"{function} failed with CUDA's error {failed}")


@dataclass(frozen=True)
class Place:
    """A contiguous tensor in the memory: its first byte, shape and torch's name of its type."""

    start: int
    shape: tuple[int, ...]
    dtype: str


class DeviceMemory:
    """`size` bytes on the first visible GPU, whose context must exist; `fd` is to be passed on."""

    def __init__(self, size: int, fd: int | None = None):
        """Makes memory, or maps what another process made and sent as `fd`.

        Raises MemoryError if the GPU has too little, NotShared if the driver cannot do it.
        """
        handle = ctypes.c_uint64()
        properties = _Properties(PINNED, FILE_DESCRIPTOR, _Location(DEVICE, 0))
        grain = ctypes.c_size_t()
        _driver("cuMemGetAllocationGranularity", ctypes.byref(grain), ctypes.byref(properties), 0)
        self.size = -(-size // grain.value) * grain.value
        whole, nothing = ctypes.c_size_t(self.size), ctypes.c_uint64(0)
        if fd is None:
            _driver("cuMemCreate", ctypes.byref(handle), whole, ctypes.byref(properties), nothing)
            exported = ctypes.c_int()
            _driver(
                "cuMemExportToShareableHandle",
                ctypes.byref(exported),
                handle,
                FILE_DESCRIPTOR,
                nothing,
            )
            self.fd = exported.value
        else:
            passed = ctypes.c_void_p(fd)
            _driver("cuMemImportFromShareableHandle", ctypes.byref(handle), passed, FILE_DESCRIPTOR)
            self.fd = fd
        address = ctypes.c_uint64()
        _driver(
            "cuMemAddressReserve",
            ctypes.byref(address),
            whole,
            ctypes.c_size_t(0),
            nothing,
            nothing,
        )
        _driver("cuMemMap", address, whole, ctypes.c_size_t(0), handle, nothing)
        access = _Access(_Location(DEVICE, 0), READ_WRITE)
        _driver("cuMemSetAccess", address, whole, ctypes.byref(access), ctypes.c_size_t(1))
        self._handle, self._address = handle, address

    def tensor(self, place: Place):
        """The tensor at a place, without a copy; it must not be used after `close`."""
        import torch

        whole = torch.as_tensor(_Bytes(self._address.value, self.size), device="cuda")
        dtype = getattr(torch, place.dtype)
        count = dtype.itemsize * math.prod(place.shape)
        return whole[place.start : place.start + count].view(dtype).view(place.shape)

    def close(self) -> None:
        """Gives the memory back; the other process keeps it for as long as it has it mapped."""
        whole = ctypes.c_size_t(self.size)
        _driver("cuMemUnmap", self._address, whole)
        _driver("cuMemAddressFree", self._address, whole)
        _driver("cuMemRelease", self._handle)


class _Bytes:
    """Device memory as NumPy's and torch's interface for arrays on a GPU describes it."""

    def __init__(self, address: int, size: int):
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }
