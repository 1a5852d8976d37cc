"""A small Transformer whose linear layers and attention are the course's own kernels.

    python examples/transformer.py [--steps N] [--width W] [--heads H] [--layers L] [--length T] [--batch B]

It is trained beside the same model with PyTorch's layers: same weights at the start, same data, same
optimiser. The two loss curves must agree. The task is made here: go on with a random word that is said again
and again, which takes attention to solve. Without a GPU everything runs in the interpreter, so keep it tiny there.
"""

import argparse

import torch
import torch.nn.functional as F
from kernels import load_solution
from torch import nn

LETTERS = 16
TOLERANCE = 0.02  # of a loss; TF32 and float16 products round differently from the library's


class _Product(torch.autograd.Function):
    """x @ w.T by one of our kernels, and its two gradients, which are matrix products as well."""

    @staticmethod
    def forward(ctx, x, w, matmul):
        ctx.save_for_backward(x, w)
        ctx.matmul = matmul
        return matmul(x, w.T)

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        return ctx.matmul(dy, w), ctx.matmul(dy.T, x), None


def as_computed(x: torch.Tensor) -> torch.Tensor:
    """x in the type of `torch.autocast` where that is on, as PyTorch's own layers take it."""
    kind = x.device.type
    return x.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else x


class OurLinear(nn.Linear):
    """A linear layer whose products are ours; the bias is added by PyTorch."""

    matmul = "triton_matmul"

    def forward(self, x):
        rows, weight, bias = map(as_computed, (x.flatten(0, -2), self.weight, self.bias))
        y = _Product.apply(rows, weight, load_solution(self.matmul)) + bias
        return y.view(*x.shape[:-1], self.out_features)


def library_attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def our_attention(q, k, v):
    return load_solution("attention")(q, k, v, causal=True)


class Block(nn.Module):
    """Causal attention and a feed-forward layer, each behind a norm and beside a residual."""

    def __init__(self, width: int, heads: int, linear, attention):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.out = linear(width, 3 * width), linear(width, width)
        self.up, self.down = linear(width, 4 * width), linear(4 * width, width)
        self.attention = attention

    def forward(self, x):
        B, T, W = x.shape
        qkv = self.qkv(self.norms[0](x)).view(B, T, 3, self.heads, W // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # views: the kernel takes their strides
        x = x + self.out(self.attention(q, k, v).transpose(1, 2).reshape(B, T, W))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


class Transformer(nn.Module):
    """Letters in, scores of the next letter out."""

    def __init__(self, width: int, heads: int, layers: int, length: int, linear, attention):
        super().__init__()
        self.letters, self.places = nn.Embedding(LETTERS, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(
            *(Block(width, heads, linear, attention) for _ in range(layers))
        )
        self.norm, self.head = nn.LayerNorm(width), linear(width, LETTERS)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.letters(tokens) + self.places(places))))


def batches(batch: int, length: int, steps: int, device, word: int):
    """Sequences that say one random word of `word` letters again and again."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        words = torch.randint(LETTERS, (batch, word), generator=generator)
        yield words.repeat(1, -(-(length + 1) // word))[:, : length + 1].to(device)


def train(model, data, rate: float = 3e-3, dtype: torch.dtype | None = None):
    """Yields the loss of each step. With `dtype` the forward pass is under `torch.autocast`."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate)
    for tokens in data:
        # Entered anew for each step: autocast keeps what it has converted of a weight until it is left.
        with torch.autocast(tokens.device.type, dtype, enabled=dtype is not None):
            scores = model(tokens[:, :-1])
            loss = F.cross_entropy(scores.reshape(-1, LETTERS), tokens[:, 1:].reshape(-1))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        yield loss.item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sizes = {"steps": 3, "width": 32, "heads": 2, "layers": 1, "length": 16, "batch": 2}
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    curves = []
    for linear, attention in ((nn.Linear, library_attention), (OurLinear, our_attention)):
        torch.manual_seed(0)  # the same weights for both
        sizes = (given.width, given.heads, given.layers, given.length)
        model = Transformer(*sizes, linear, attention).to(device)
        data = batches(given.batch, given.length, given.steps, device, word=given.length // 2)
        curves.append(list(train(model, data)))
    print("step  PyTorch  our kernels")
    for step, (theirs, ours) in enumerate(zip(*curves), 1):
        print(f"{step:4} {theirs:8.4f} {ours:12.4f}", flush=True)
    worst = max(abs(a - b) for a, b in zip(*curves))
    if worst > TOLERANCE:
        raise SystemExit(f"the curves differ by {worst:.4f}, more than {TOLERANCE}")


if __name__ == "__main__":
    main()
