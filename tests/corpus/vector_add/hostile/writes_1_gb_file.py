"""A file of 1 GB grows in the working folder, and no result comes back.

step: vector_add
expect: error|crashed|failed|refused
attack: fills the disk
"""


def vector_add(x, y):
    with open("filler.bin", "wb") as file:
        file.writelines(bytes(1024**2) for _ in range(1024))
