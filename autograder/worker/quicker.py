"""Triton's interpreter, quicker: what it works out again for every operation is kept.

Tried on Triton 3.6.0, 3.7.1, 3.8.0 and 3.9.0. Must never change a value or a type that the
interpreter would give.
"""

import triton.language as tl
from triton.runtime import interpreter as triton_interpreter


def install() -> None:
    """Once, before any kernel runs."""
    _shapes_checked_once()
    _number_types_found_once()
    _plain_values_left_alone()


def _shapes_checked_once() -> None:
    """Every operation makes the type of its result, which checks the shape and writes a name, and
    a tensor, which counts its elements."""
    make_type, make_tensor = tl.block_type.__init__, tl.tensor.__init__
    types: dict[tuple, dict] = {}
    tensors: dict[str, dict] = {}

    def block_type(self, element_ty, shape):
        key = (element_ty.name, *shape)
        if key not in types:
            make_type(self, element_ty, shape)
            types[key] = dict(self.__dict__)
        self.__dict__.update(types[key], element_ty=element_ty)

    def tensor(self, handle, type):
        if type.name not in tensors:
            make_tensor(self, handle, type)
            tensors[type.name] = self.__dict__ | {"handle": None}
        self.__dict__.update(tensors[type.name], handle=handle, type=type, dtype=type.scalar)

    tl.block_type.__init__, tl.tensor.__init__ = block_type, tensor


def _number_types_found_once() -> None:
    """Triton makes its table of NumPy's types anew whenever it looks one up."""
    find = triton_interpreter._get_np_dtype
    known: dict[str, object] = {}

    def _get_np_dtype(tt_dtype):
        name = tt_dtype.name
        if name not in known:
            known[name] = find(tt_dtype)
        return known[name]

    triton_interpreter._get_np_dtype = _get_np_dtype


def _plain_values_left_alone() -> None:
    """Triton looks into whatever an operation is given for constants: mostly there are none."""
    unwrap = tl.core._unwrap_if_constexpr
    plain = frozenset({int, tl.tensor, tl.dtype, tl.pointer_type, tl.block_type})
    tl.core._unwrap_if_constexpr = lambda o: o if type(o) in plain else unwrap(o)
