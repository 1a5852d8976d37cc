"""A report that says all is well is written to every descriptor, and the process ends.

step: group_major
expect: crashed|failed
attack: a forged account of the calls
"""

import json
import os


def group_major(pid, num_pid_m, num_pid_n, group_size):
    good = {"error": None, "value": {"tuple": [0, 0]}, "changed": -1}
    text = json.dumps({"error": None, "outcomes": [good] * 12, "passed": True}).encode()
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, text)
        except OSError:
            pass
    os._exit(0)
