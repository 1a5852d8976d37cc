"""Causal attention over a sequence that is spread over several ranks.

    python examples/sequence_parallel.py          two processes on the CPU, or on two GPUs
    torchrun --nproc-per-node 4 examples/sequence_parallel.py

Each rank has the queries, keys and values of its own piece of the sequence. Keys and values are
gathered; a rank takes those up to the end of its piece. The kernel of chapter 12 aligns a causal mask
with the last key, so that the right keys are seen without a word about ranks.
"""

import torch
import torch.distributed as dist
from kernels import load_solution
from ranks import run

BATCH, HEADS, LENGTH, D = 1, 2, 24, 16


def gathered(piece: torch.Tensor, ranks: int) -> torch.Tensor:
    """The pieces of all ranks, joined along the sequence."""
    pieces = [torch.empty_like(piece) for _ in range(ranks)]
    dist.all_gather(pieces, piece.contiguous())
    return torch.cat(pieces, dim=2)


def attention(q, k, v, rank: int, ranks: int):
    """This rank's rows of causal attention; q, k, v: its own pieces, (batch, heads, piece, D)."""
    end = (rank + 1) * k.shape[2]
    k, v = (gathered(x, ranks)[:, :, :end] for x in (k, v))
    return load_solution("flash_attention")(q, k, v, causal=True)


def work(rank: int, ranks: int, device: torch.device) -> None:
    torch.manual_seed(0)  # the same sequence on every rank, of which each keeps its piece
    length = LENGTH // ranks * ranks
    q, k, v = torch.randn(3, BATCH, HEADS, length, D, device=device)
    mine = slice(rank * length // ranks, (rank + 1) * length // ranks)
    out = attention(q[:, :, mine], k[:, :, mine], v[:, :, mine], rank, ranks)

    whole = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    error = (out - whole[:, :, mine]).abs().max().item()
    print(f"rank {rank} of {ranks} on {device}: largest difference {error:.1e}", flush=True)
    if error > 1e-2:
        raise SystemExit(f"rank {rank}: its rows are not those of the whole sequence")


if __name__ == "__main__":
    run(work)
