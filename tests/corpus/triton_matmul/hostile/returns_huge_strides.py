"""The result has the right shape but strides that reach far outside its storage.

step: triton_matmul
expect: failed|refused|error|crashed
attack: a tensor over memory that is not there
"""

import numpy as np
import torch


def triton_matmul(a, b):
    shape = (a.shape[0], b.shape[1])
    cell = torch.zeros(1, dtype=a.dtype)
    fields = {"shape": shape, "strides": (2**40, 2**30), "typestr": "<f2", "version": 3}
    holder = type(
        "Array", (), {"__array_interface__": fields | {"data": (cell.data_ptr(), False)}}
    )()
    return torch.from_numpy(np.asarray(holder)).to(a.dtype)
