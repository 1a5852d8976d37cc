"""bfloat16 in Triton's interpreter, which keeps such values as 16-bit integers and adds the integers.

Values stay bit patterns in memory and between operations. Each operation widens them to float32,
where every bfloat16 is exact, computes there, and rounds once, to nearest even: what a GPU does.
A sum rounds after each addition, along a tree, as one in bfloat16 on a GPU does.
Tried on Triton 3.6.0, 3.7.1, 3.8.0 and 3.9.0 with NumPy 2.4.6. `works` tells whether it does here;
where it does not, no bfloat16 value may be judged. Must never change a value of another type.
"""

import ctypes

import numpy as np
import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.runtime import interpreter

NAN = np.uint16(0x7FC0)
# Builder methods that compute, with the index of the operand whose type the result has.
ARITHMETIC = {"binary_op": 0, "ternary_op": 2, "unary_op": 0, "create_fma": 2, "create_dot": 2}


def widen(bits: np.ndarray) -> np.ndarray:
    """Bit patterns (uint16) → the same values in float32."""
    return (np.asarray(bits, np.uint16).astype(np.uint32) << 16).view(np.float32)


def narrow(values: np.ndarray, to_zero: bool = False) -> np.ndarray:
    """Numbers → bit patterns (uint16) of the nearest bfloat16, ties to even; or cut off."""
    values = np.asarray(values, np.float32)
    bits = values.view(np.uint32)
    if not to_zero:
        # Half of the last kept bit, less one where that bit is 0: ties go to the even neighbour.
        bits = np.where(np.isfinite(values), bits + 0x7FFF + (bits >> 16 & 1), bits)
    return np.where(np.isnan(values), NAN, (bits >> 16).astype(np.uint16))


def install() -> None:
    """Replaces the methods of the interpreter that compute with bit patterns. Once per process."""
    builder = interpreter.InterpreterBuilder
    for name, decides in ARITHMETIC.items():
        setattr(builder, name, _in_float32(getattr(builder, name), decides))
    builder.cast_impl = _cast(builder.cast_impl)
    builder.create_fp_to_fp = _cast_rounding(builder.create_fp_to_fp)
    builder.create_atomic_rmw = _atomic_add(builder.create_atomic_rmw)
    builder.create_print = _print(builder.create_print)
    builder.get_bf16 = lambda self, value: _handle(narrow(np.array([value])))
    interpreter.ReduceOps.sum = _sum(interpreter.ReduceOps.sum)
    interpreter.ScanOps.cumsum = _scan(interpreter.ScanOps.cumsum)
    interpreter.ScanOps.cumprod = _scan(interpreter.ScanOps.cumprod)


def _is_bfloat16(value) -> bool:
    return (
        isinstance(value, interpreter.TensorHandle) and value.dtype.scalar.name == tl.bfloat16.name
    )


def _handle(bits: np.ndarray):
    return interpreter.TensorHandle(bits, tl.bfloat16)


def _widened(value):
    if _is_bfloat16(value):
        return interpreter.TensorHandle(widen(value.data), tl.float32)
    return value


def _in_float32(compute, decides: int):
    def computed(self, *operands):
        if not any(map(_is_bfloat16, operands)):
            return compute(self, *operands)
        result = compute(self, *map(_widened, operands))
        if not _is_bfloat16(operands[decides]):
            return result
        # A comparison answers with truth values under its operand's type.
        return _handle(result.data if result.data.dtype == bool else narrow(result.data))

    return computed


def _cast(cast):
    def cast_impl(self, source, target):
        if target.scalar == tl.bfloat16:
            return _handle(narrow(_widened(source).data))
        return cast(self, _widened(source), target)

    return cast_impl


def _cast_rounding(cast):
    def create_fp_to_fp(self, source, target, rounding):
        if _is_bfloat16(source) and target.scalar.primitive_bitwidth >= 16:
            return self.cast_impl(source, target)  # wider, or rounded to nearest by NumPy
        source = _widened(source)
        if target.scalar == tl.bfloat16:
            if source.dtype.scalar.primitive_bitwidth == 8:
                source = cast(self, source, tl.float32, None)
            return _handle(narrow(source.data, to_zero=rounding == ir.ROUNDING_MODE.RTZ))
        return cast(self, source, target, rounding)

    return create_fp_to_fp


def _atomic_add(atomic):
    def create_atomic_rmw(self, op, pointers, value, mask, *rest):
        if not _is_bfloat16(value):
            return atomic(self, op, pointers, value, mask, *rest)
        before = np.zeros(pointers.data.shape, np.uint16)  # the language has no other than add
        values = widen(np.broadcast_to(value.data, before.shape))
        active = np.broadcast_to(np.asarray(mask.data), before.shape)
        for lane in map(tuple, np.argwhere(active)):
            cell = ctypes.c_uint16.from_address(int(pointers.data[lane]))
            before[lane] = cell.value
            cell.value = int(narrow(widen(before[lane]) + values[lane]))
        return _handle(before)

    return create_atomic_rmw


def _print(show):
    def create_print(self, prefix, hexadecimal, values, signed):
        shown = values if hexadecimal else [_widened(value) for value in values]
        return show(self, prefix, hexadecimal, shown, signed)

    return create_print


def _sum(native):
    def summed(self, tensor):
        if tensor.dtype != tl.bfloat16:
            return native(self, tensor)
        values = widen(tensor.handle.data)
        shape = values.shape
        axes = range(len(shape)) if self.axis is None else [self.axis]
        values = values.reshape(-1) if self.axis is None else np.moveaxis(values, self.axis, 0)
        while len(values) > 1:
            half = len(values) // 2
            pairs = widen(narrow(values[:half] + values[half : 2 * half]))
            values = np.concatenate([pairs, values[2 * half :]])
        total = narrow(values[0])
        if self.keep_dims:
            axes = [axis % len(shape) for axis in axes]
            total = total.reshape([1 if i in axes else n for i, n in enumerate(shape)])
        return self.to_tensor(total, tl.bfloat16)

    return summed


def _scan(native):
    def scanned(self, tensor):
        if tensor.dtype != tl.bfloat16:
            return native(self, tensor)
        return self.generic_scan((tensor,))

    return scanned


# --- self-test --------------------------------------------------------------------------------


@triton.jit
def _test_kernel(a_ptr, b_ptr, out_ptr, dot_ptr, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    tile = rows * BLOCK + cols
    size: tl.constexpr = BLOCK * BLOCK
    a = tl.load(a_ptr + tile, mask=cols < BLOCK - 1, other=0.5)
    b = tl.load(b_ptr + tile)
    tl.store(out_ptr + tile, a + b)
    tl.store(out_ptr + size + tile, a * b - 1.5)
    tl.store(out_ptr + 2 * size + tile, tl.where(a < b, a, b * 2))
    tl.store(out_ptr + 3 * size + tile, a.to(tl.float32) / 3.0)
    tl.store(out_ptr + 4 * size + tile, (rows * 37 - cols).to(tl.bfloat16))
    tl.store(out_ptr + 5 * size + tile, tl.sum(a, axis=1)[:, None] + tl.zeros_like(a))
    tl.store(out_ptr + 6 * size + tile, tl.max(b, axis=0)[None, :] + tl.zeros_like(a))
    tl.atomic_add(out_ptr + 7 * size + tile * 0, a, mask=tile == 3)
    tl.store(dot_ptr + tile, tl.dot(a, b))


def works() -> bool:
    """Whether bfloat16 values come out right in this process, compared with PyTorch's."""
    import torch

    n = 16
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, n, n, generator=generator).to(torch.bfloat16)
    out = torch.zeros(8, n, n, dtype=torch.bfloat16)
    dot = torch.zeros(n, n)
    try:
        _test_kernel[(1,)](a, b, out, dot, BLOCK=n)
    except Exception:  # noqa: BLE001 - an interpreter that is built otherwise may fail in any way
        return False
    a[:, -1] = 0.5
    rows, cols = torch.arange(n)[:, None], torch.arange(n)[None, :]
    total = a.clone()
    while total.shape[1] > 1:
        half = total.shape[1] // 2
        total = total[:, :half] + total[:, half:]
    added = torch.zeros(n, n, dtype=torch.bfloat16)
    added[0, 0] = a[0, 3]
    expected = [
        a + b,
        a * b - 1.5,
        torch.where(a < b, a, b * 2),
        (a.float() / 3.0).to(torch.bfloat16),
        (rows * 37 - cols).to(torch.bfloat16),
        total.expand(n, n),
        b.max(dim=0, keepdim=True).values.expand(n, n),
        added,
    ]
    exact = all(torch.equal(got, wanted) for got, wanted in zip(out, expected))
    return exact and torch.allclose(dot, a.float() @ b.float(), rtol=0, atol=1e-5)
