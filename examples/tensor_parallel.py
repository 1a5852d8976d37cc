"""A feed-forward layer on several ranks, each with a part of the weights.

    python examples/tensor_parallel.py            two processes on the CPU, or on two GPUs
    torchrun --nproc-per-node 4 examples/tensor_parallel.py

The first weight is cut by its outputs, the second by its inputs, so that a rank needs nothing from
the others in between, and one sum over the ranks at the end. The kernels are those of chapter 6 and
know nothing of ranks: each works on tensors of its own.
"""

import torch
import torch.distributed as dist
from kernels import load_solution
from ranks import run

TOKENS, WIDTH, INNER = 20, 32, 64


def feed_forward(x, w1, b1, w2):
    """This rank's part of gelu(x @ w1.T + b1) @ w2.T: x (tokens, width), w1 (inner/ranks, width),
    b1 (inner/ranks,), w2 (width, inner/ranks)."""
    hidden = load_solution("linear_gelu")(x, w1, b1)
    return load_solution("triton_matmul")(hidden, w2.T)


def work(rank: int, ranks: int, device: torch.device) -> None:
    torch.manual_seed(0)  # the same layer on every rank, of which each keeps its part
    x = torch.randn(TOKENS, WIDTH, device=device)
    w1 = torch.randn(INNER, WIDTH, device=device) / WIDTH**0.5
    b1 = torch.randn(INNER, device=device)
    w2 = torch.randn(WIDTH, INNER, device=device) / INNER**0.5

    mine = slice(rank * INNER // ranks, (rank + 1) * INNER // ranks)
    y = feed_forward(x, w1[mine], b1[mine], w2[:, mine])
    dist.all_reduce(y)  # the sum of all ranks' parts, on every rank

    whole = torch.nn.functional.gelu(x @ w1.T + b1) @ w2.T
    error = (y - whole).abs().max().item()
    print(f"rank {rank} of {ranks} on {device}: largest difference {error:.1e}", flush=True)
    if error > 1e-2:
        raise SystemExit(f"rank {rank}: the parts do not add up to the layer")


if __name__ == "__main__":
    run(work)
