"""A filter of system calls (seccomp): a process gives up those that reach outside it (Linux 3.17).

A refused call fails with EPERM, so that Python raises PermissionError and the submission is told.
The list holds what an unprivileged process may otherwise do to others; what needs an
administrator's rights is refused by their absence. Must never loosen anything: a filter stays.
"""

import ctypes
import errno
import platform
import socket
import struct

from autograder.worker.system import PR_SET_PDEATHSIG, prctl

PR_SET_SECCOMP, MODE_FILTER = 22, 2
ALLOW, ERRNO = 0x7FFF0000, 0x00050000

# platform.machine() → the kernel's name for it, and which column of the tables below is its own.
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
X32 = 0x40000000  # a second numbering of the calls of x86_64

# System call → its number on x86_64 and on aarch64.
REFUSED = {
    # network, and Unix sockets to anywhere; the two ends of a socketpair still talk to each other
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200),
    # other processes' memory and descriptors
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "pidfd_getfd": (438, 438), "kcmp": (312, 272),
    "move_pages": (279, 239), "migrate_pages": (256, 238),
    # mounts and namespaces
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "move_mount": (429, 429), "open_tree": (428, 428), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "unshare": (272, 97), "setns": (308, 268),
    # parts of the kernel with a history of holes
    "bpf": (321, 280), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "fanotify_init": (300, 262), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    # memory that outlives the run, or that its limits do not count
    "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    "memfd_create": (319, 279), "memfd_secret": (447, 447),
}  # fmt: skip
CLONE, CLONE3, SOCKETPAIR, PRCTL = (56, 220), (435, 435), (53, 199), (157, 167)
NEW_NAMESPACES = 0x7E020000
# Where other processes can be named: limits and priorities, by number, of the process itself only.
ON_ITSELF = {
    "prlimit64": (302, 261), "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274),
}  # fmt: skip
PRIORITIES = {"setpriority": (141, 140), "ioprio_set": (251, 30)}
# Where no other layer contains signals. The run cannot signal its own children then either.
SIGNALS_TO_ITSELF = {"kill": (62, 129), "tgkill": (234, 131)}
OTHER_SIGNALS = {
    "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
}  # fmt: skip
FCNTL = (72, 25)
F_SETOWN, F_SETSIG, F_SETOWN_EX = 8, 10, 15  # any signal to any process when a file is ready


def known_machine() -> bool:
    """Whether the numbers of this processor's system calls are known here."""
    return platform.machine() in MACHINES


def install(own_pid: int, names_others: bool, signals_others: bool) -> None:
    """From now on this thread and its children are refused the calls above.

    `own_pid` is this process as it sees itself; the other two say whether it can name other
    processes, and signal them. Needs no_new_privs. Raises OSError.
    """
    program = _program(own_pid, names_others, signals_others)
    instructions = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HP", len(program) // 8, ctypes.addressof(instructions))
    prctl(PR_SET_SECCOMP, MODE_FILTER, header)


# --- the filter's program: instructions of 8 bytes (classic BPF) --------------------------------

LOAD, EQUAL, AT_LEAST, ANY_BIT, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16  # offsets in what the kernel hands to the filter


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _refuse(number: int = errno.EPERM) -> bytes:
    return _step(RETURN, ERRNO | number)


def _on(number: int, body: bytes) -> bytes:
    """Runs `body`, which must return on every path, for one system call."""
    return _step(EQUAL, number, 0, len(body) // 8) + body


def _argument(index: int) -> bytes:
    """Loads the lower half of an argument; all that is looked at fits into it."""
    return _step(LOAD, ARGUMENTS + 8 * index)


def _unless(values: tuple[int, ...]) -> bytes:
    """Allows the call if the loaded value is one of these, and refuses it otherwise."""
    tests = [_step(EQUAL, v & 0xFFFFFFFF, len(values) - i) for i, v in enumerate(values)]
    return b"".join(tests) + _refuse() + _step(RETURN, ALLOW)


def _if(values: tuple[int, ...]) -> bytes:
    """Refuses the call if the loaded value is one of these, and allows it otherwise."""
    tests = [_step(EQUAL, v, len(values) - i) for i, v in enumerate(values)]
    return b"".join(tests) + _step(RETURN, ALLOW) + _refuse()


def _program(own_pid: int, names_others: bool, signals_others: bool) -> bytes:
    architecture, column = MACHINES[platform.machine()]
    program = _step(LOAD, ARCHITECTURE) + _step(EQUAL, architecture, 1) + _refuse()
    program += _step(LOAD, NUMBER)
    if platform.machine() == "x86_64":
        program += _step(AT_LEAST, X32, 0, 1) + _refuse()
    refused = REFUSED | (PRIORITIES if names_others else {})
    refused |= OTHER_SIGNALS if signals_others else {}
    for numbers in refused.values():
        program += _on(numbers[column], _refuse())
    # The C library falls back to clone, whose flags can be seen.
    program += _on(CLONE3[column], _refuse(errno.ENOSYS))
    no_namespace = _step(ANY_BIT, NEW_NAMESPACES, 1) + _step(RETURN, ALLOW) + _refuse()
    program += _on(CLONE[column], _argument(0) + no_namespace)
    # A datagram socket may be pointed at any address later; a stream may not.
    streams = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET)
    program += _on(SOCKETPAIR[column], _argument(1) + _step(AND, 0xF) + _unless(streams))
    # It must not outlive its guard.
    program += _on(PRCTL[column], _argument(0) + _if((PR_SET_PDEATHSIG,)))
    to_itself = ON_ITSELF if names_others else {}
    to_itself |= SIGNALS_TO_ITSELF if signals_others else {}
    for numbers in to_itself.values():
        program += _on(numbers[column], _argument(0) + _unless((0, own_pid)))
    if signals_others:
        owners = _if((F_SETOWN, F_SETSIG, F_SETOWN_EX))
        program += _on(FCNTL[column], _argument(1) + owners)
    return program + _step(RETURN, ALLOW)
