"""The whole order is written down, and the wave is a slice of it.

step: wave_strips
expect: passed
"""


def wave_strips(num_pid_m, num_pid_n, group_size, first, programs):
    order = []
    for top in range(0, num_pid_m, group_size):
        rows = range(top, min(top + group_size, num_pid_m))
        order += [(m, n) for n in range(num_pid_n) for m in rows]
    wave = order[first : first + programs]
    return len(dict.fromkeys(m for m, _ in wave)), len(dict.fromkeys(n for _, n in wave))
