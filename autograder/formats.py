"""Number formats of tensors, as the grader's NumPy handles them.

NumPy has no bfloat16. The grader holds such numbers as float32 values that a bfloat16 can hold,
and as 16-bit patterns where they are stored. Must agree with PyTorch bit for bit.
"""

import numpy as np


def itemsize(dtype: str) -> int:
    """Bytes of one element."""
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    """The nearest numbers of a type, ties to even, in an array that computes."""
    if dtype != "bfloat16":
        return np.asarray(values).astype(dtype)
    bits = np.asarray(values).astype(np.float32).view(np.uint32)
    kept = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return (
        np.where(np.isfinite(bits.view(np.float32)), kept, bits).astype(np.uint32).view(np.float32)
    )


def encode(values: np.ndarray, dtype: str) -> np.ndarray:
    """Numbers of a type (as `rounded` gives them) → what lies in memory."""
    if dtype != "bfloat16":
        return values
    return (np.ascontiguousarray(values).view(np.uint32) >> 16).astype(np.uint16)


def decode(data: bytes, dtype: str) -> np.ndarray:
    """What lies in memory → numbers, 1-D."""
    if dtype != "bfloat16":
        return np.frombuffer(data, dtype)
    return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)
