"""Programs are added one by one until one does not fit.

step: resident_programs
expect: passed
"""


def resident_programs(registers_per_thread, shared_bytes, num_warps, sm):
    if shared_bytes > sm["shared_block"]:
        return 0
    units = -(-registers_per_thread * sm["warp_size"] // sm["register_unit"])
    of_partition = sm["registers"] // sm["partitions"] // sm["register_unit"] // units
    shared = -(-(shared_bytes + sm["shared_reserved"]) // sm["shared_unit"]) * sm["shared_unit"]

    def fit(programs):
        return (
            programs <= sm["blocks"]
            and programs * num_warps <= sm["warps"]
            and programs * num_warps <= of_partition * sm["partitions"]
            and programs * shared <= sm["shared_sm"]
        )

    programs = 0
    while fit(programs + 1):
        programs += 1
    return programs
