"""The usual way to test a kernel, to compare the grader with: one call, then `torch.allclose`.

The call has contiguous tensors of normal numbers, square, with a side of 256; of 16 where Python loops over tensors. The reference is
PyTorch's own function on the same tensors. The tolerances are the usual ones, 1e-4 for float32 and
1e-2 for float16, relative and absolute. Nothing is looked at but the returned tensor: shape, then
values. Kernels run in Triton's own interpreter, as it comes. It cannot tune, so that a step whose
kernels are all tuned has no naive test; nor has one that PyTorch has no function for.

    echo '{"step": "softmax", "path": "…", "seed": 1}' | python benchmarks/naive_grader.py

Reads such lines and answers each with `true` (accepted) or `false`, from a forked process that may
run for 60 seconds. That is no isolation: it must never be given a file that attacks its grader.
"""

import importlib.util
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.nn import functional as F

SECONDS = 60
N = 256
VECTOR, SQUARE, HEADS = (N,), (N, N), (1, 2, N, 64)
SMALL = (16, 16)
TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-2}


@dataclass(frozen=True)
class Test:
    """PyTorch's function, the shapes of the tensors, and what a submission is given besides."""

    reference: Callable
    shapes: tuple[tuple[int, ...], ...]
    dtype: torch.dtype = torch.float32
    more: tuple = ()


PRODUCT = Test(torch.matmul, (SQUARE, SQUARE), torch.float16)
SOFTMAX = Test(lambda x: x.softmax(1), (SQUARE,))
TESTS = {
    "vector_add": Test(torch.add, ((N * N,), (N * N,))),
    "scale_rows": Test(lambda x, s: x * s[:, None], (SQUARE, VECTOR)),
    "transpose": Test(torch.t, (SQUARE,)),
    "naive_matmul": Test(torch.matmul, (SMALL, SMALL)),
    "blockwise_matmul": Test(torch.matmul, (SMALL, SMALL), more=(4,)),
    "row_max": Test(lambda x: x.amax(1), (SQUARE,)),
    "log_sum_exp": Test(lambda x: x.logsumexp(1), (SQUARE,)),
    "softmax": SOFTMAX,
    "layer_norm": Test(lambda x: F.layer_norm(x, VECTOR), (SQUARE,), more=(1e-5,)),
    "weighted_mean": Test(lambda x, v: x.softmax(1) @ v, (SQUARE, VECTOR)),
    "online_softmax": SOFTMAX,
    "tile_matmul": Test(torch.matmul, ((32, N), (N, 32)), torch.float16),
    "triton_matmul": PRODUCT,
    "linear_gelu": Test(lambda x, w, b: F.gelu(F.linear(x, w, b)), (SQUARE, SQUARE, VECTOR), torch.float16),
    "ieee_matmul": Test(torch.matmul, (SQUARE, SQUARE)),
    "grouped_matmul": PRODUCT,
    "persistent_matmul": PRODUCT,
    "split_k_matmul": PRODUCT,
    "attention_tile": Test(F.scaled_dot_product_attention, ((32, 64), (N, 64), (N, 64)), torch.float16),
    "softmax_backward": Test(lambda y, dy: y * (dy - (y * dy).sum(1, keepdim=True)), (SQUARE, SQUARE)),
    "attention_delta": Test(lambda out, dout: (out * dout).sum(3), (HEADS, HEADS)),
    "attention": Test(F.scaled_dot_product_attention, (HEADS, HEADS, HEADS), torch.float16),
    "flash_attention": Test(F.scaled_dot_product_attention, (HEADS, HEADS, HEADS), torch.float16),
}  # fmt: skip


def accepts(step: str, path: str, given: list[torch.Tensor], expected: torch.Tensor) -> bool:
    """Whether the function of a file passes. Runs the file in this process."""
    spec = importlib.util.spec_from_file_location("submission", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    actual = getattr(module, step)(*given, *TESTS[step].more)
    tolerance = TOLERANCE[TESTS[step].dtype]
    return actual.shape == expected.shape and torch.allclose(
        actual.float(), expected.float(), rtol=tolerance, atol=tolerance
    )


def in_a_child(step: str, path: str, seed: int) -> bool:
    """`accepts` on tensors drawn from a seed; whatever the file does but to pass is a no."""
    test = TESTS[step]
    generator = torch.Generator().manual_seed(seed)
    given = [torch.randn(s, generator=generator).to(test.dtype) for s in test.shapes]
    expected = test.reference(*given)
    pid = os.fork()
    if pid == 0:
        accepted = False
        try:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nothing, descriptor)
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                accepted = accepts(step, path, given, expected)
        finally:
            os._exit(0 if accepted else 1)
    deadline = time.monotonic() + SECONDS
    ended, status = 0, 1
    while not ended and time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it ended and left nobody
    if not ended:
        os.waitpid(pid, 0)
    return bool(ended) and status == 0


def main() -> None:
    os.environ["TRITON_INTERPRET"] = "1"
    import triton  # noqa: F401 - loaded once, before the forks

    torch.set_num_threads(1)  # a forked process has no other threads to wait for
    for line in sys.stdin:
        asked = json.loads(line)
        path = str(Path(asked["path"]).resolve())
        print(json.dumps(in_a_child(asked["step"], path, asked["seed"])), flush=True)


if __name__ == "__main__":
    main()
