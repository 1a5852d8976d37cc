"""Starts an example on several ranks: one process each, on its own GPU, or on the CPU with gloo.

Under torchrun the processes exist already and are used; else as many as `ranks` are started here.
"""

import os
import tempfile
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import multiprocessing


def run(work: Callable[[int, int, torch.device], None], ranks: int = 2) -> None:
    """Calls work(rank, ranks, device) once on every rank, inside a process group."""
    if "RANK" in os.environ:
        _one(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), work, None)
        return
    with (
        tempfile.TemporaryDirectory() as folder
    ):  # a file to meet in, and no port that may be taken
        multiprocessing.spawn(_one, (ranks, work, f"{folder}/store"), nprocs=ranks)


def _one(rank: int, ranks: int, work, store: str | None) -> None:
    gpu = torch.cuda.device_count() >= ranks
    device = torch.device("cuda", rank % torch.cuda.device_count()) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    meeting = {} if store is None else {"init_method": f"file://{store}"}
    dist.init_process_group("nccl" if gpu else "gloo", rank=rank, world_size=ranks, **meeting)
    try:
        work(rank, ranks, device)
    finally:
        dist.destroy_process_group()
