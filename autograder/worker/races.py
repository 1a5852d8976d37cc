"""Finds programs of one launch that depend on each other's order without saying so.

The interpreter runs programs one after another, so a race gives the right answer there. Here every
access is remembered with its program. Two programs race where one writes an address and another
writes something else there or reads it, other than by atomics. Writing the same value twice is
not counted: overlapping tiles that agree are common and harmless on a GPU.
A kernel that uses atomics on integers, or compare-and-swap, synchronises in ways that cannot be
followed here (locks, tickets, counters): its launch is not judged.
Must never change an access.
"""

from dataclasses import dataclass

import numpy as np
from triton.runtime import interpreter as triton_interpreter

MAX_LANES = 1 << 23  # remembered for one launch; beyond it the launch is not judged


@dataclass
class _Access:
    """The active lanes of one load, store or atomic. `values` are bits, of a store only."""

    kind: str
    program: int
    where: dict
    addresses: np.ndarray
    values: np.ndarray | None


class RaceCheck:
    """The accesses of one launch. `find` tells the first race, or None."""

    def __init__(self):
        self._accesses: list[_Access] = []
        self._lanes = 0
        self._blind = False

    def synchronised(self) -> None:
        """The kernel orders its programs itself."""
        self._blind = True

    def note(self, kind: str, addresses, active, where: dict, values=None) -> None:
        """Remembers an access; `values` are what a store writes, `active` its lanes."""
        if self._blind:
            return
        chosen = addresses[active]
        self._lanes += chosen.size
        if self._lanes > MAX_LANES:
            self._blind = True
            self._accesses.clear()
            return
        bits = None
        if values is not None:
            values = np.ascontiguousarray(np.broadcast_to(values, addresses.shape)[active])
            bits = values.view(f"u{values.itemsize}").astype(np.uint64)
        x, y, z = triton_interpreter.interpreter_builder.grid_idx
        self._accesses.append(_Access(kind, (x << 40) + (y << 20) + z, where, chosen, bits))

    def find(self) -> dict | None:
        """The first address on which two programs race: how, who, where."""
        stores = [a for a in self._accesses if a.kind == "store"]
        if self._blind or not stores:
            return None
        return self._different_values(stores) or self._touched_by_another(stores)

    def _different_values(self, stores: list[_Access]) -> dict | None:
        """An address to which two programs write two values."""
        addresses, programs, index = _columns(stores)
        in_order = np.sort(addresses)
        if not (in_order[1:] == in_order[:-1]).any():
            return None
        values = np.concatenate([a.values for a in stores])
        order = np.lexsort((values, programs, addresses))
        addresses, programs, values, index = (
            c[order] for c in (addresses, programs, values, index)
        )
        same = addresses[1:] == addresses[:-1]
        differ = same & (programs[1:] != programs[:-1]) & (values[1:] != values[:-1])
        if not differ.any():
            return None
        at = int(np.argmax(differ))
        return _race(addresses[at], stores[index[at]], stores[index[at + 1]])

    def _touched_by_another(self, stores: list[_Access]) -> dict | None:
        """An address that one program writes and another reads, or changes by an atomic."""
        written, writers, store = _columns(stores)
        if not written.size:
            return None
        low, high = written.min(), written.max()
        others = [
            a
            for a in self._accesses
            if a.kind != "store" and a.addresses.size
            if a.addresses.min() <= high and a.addresses.max() >= low
        ]
        if not others:
            return None
        touched, users, other = _columns(others)
        order = np.lexsort((writers, written))
        written, writers, store = written[order], writers[order], store[order]
        # The first and the last writer of each address: one of them is not the user, if any is.
        first = np.searchsorted(written, touched, "left")
        last = np.searchsorted(written, touched, "right") - 1
        for column in (first, last):
            at = np.clip(column, 0, written.size - 1)
            clash = (written[at] == touched) & (writers[at] != users)
            if clash.any():
                i = int(np.argmax(clash))
                return _race(touched[i], stores[store[at[i]]], others[other[i]])
        return None


def _columns(accesses: list[_Access]):
    """Of all lanes: address, program, and the index of the access."""
    sizes = [a.addresses.size for a in accesses]
    return (
        np.concatenate([a.addresses for a in accesses]),
        np.repeat([a.program for a in accesses], sizes),
        np.repeat(np.arange(len(accesses)), sizes),
    )


def _race(address, one: _Access, other: _Access) -> dict:
    return {
        "address": int(address),
        "kinds": [one.kind, other.kind],
        "programs": [_index(one.program), _index(other.program)],
        **(other.where if other.kind == "load" else one.where),
    }


def _index(program: int) -> list[int]:
    program = int(program)
    return [program >> 40, program >> 20 & 0xFFFFF, program & 0xFFFFF]
