"""A product and a sum of PyTorch's.

step: attention_delta
expect: refused
attack: the library in place of the kernel
"""


def attention_delta(out, dout):
    return (out.float() * dout.float()).sum(-1)
