"""A small Transformer whose linear layers and attention are the course's own kernels.

    python examples/transformer.py [--steps N] [--width W] [--layers L] [--length T] [--batch B]

It is trained beside the same model with PyTorch's layers: same weights at the start, same data, same
optimiser. The two loss curves must agree. The task is made here: repeat a random sequence of letters, which
takes attention to solve. Without a GPU everything runs in the interpreter, so keep it tiny there.
"""

import argparse

import torch
import torch.nn.functional as F
from kernels import load_solution
from torch import nn

LETTERS = 16
HEADS = 2
TOLERANCE = 0.02  # of a loss; TF32 and float16 products round differently from the library's


class _Product(torch.autograd.Function):
    """x @ w.T with our kernel, and its two gradients, which are matrix products as well."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return load_solution("triton_matmul")(x, w.T)

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        matmul = load_solution("triton_matmul")
        return matmul(dy, w), matmul(dy.T, x)


class OurLinear(nn.Linear):
    """A linear layer whose products are ours; the bias is added by PyTorch."""

    def forward(self, x):
        return (
            _Product.apply(x.reshape(-1, self.in_features), self.weight).view(
                *x.shape[:-1], self.out_features
            )
            + self.bias
        )


def library_attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def our_attention(q, k, v):
    return load_solution("attention")(q, k, v, causal=True)


class Block(nn.Module):
    """Causal attention and a feed-forward layer, each behind a norm and beside a residual."""

    def __init__(self, width: int, linear, attention):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.out = linear(width, 3 * width), linear(width, width)
        self.up, self.down = linear(width, 4 * width), linear(4 * width, width)
        self.attention = attention

    def forward(self, x):
        B, T, W = x.shape
        qkv = self.qkv(self.norms[0](x)).view(B, T, 3, HEADS, W // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # views: the kernel takes their strides
        x = x + self.out(self.attention(q, k, v).transpose(1, 2).reshape(B, T, W))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


class Transformer(nn.Module):
    """Letters in, scores of the next letter out."""

    def __init__(self, width: int, layers: int, length: int, linear, attention):
        super().__init__()
        self.letters, self.places = nn.Embedding(LETTERS, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, linear, attention) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), linear(width, LETTERS)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.letters(tokens) + self.places(places))))


def batches(batch: int, length: int, steps: int, device):
    """Sequences whose second half repeats the first."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        half = torch.randint(LETTERS, (batch, -(-(length + 1) // 2)), generator=generator)
        yield torch.cat([half, half], dim=1)[:, : length + 1].to(device)


def train(model, data) -> list[float]:
    """The loss of each step."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for tokens in data:
        scores = model(tokens[:, :-1])
        loss = F.cross_entropy(scores.reshape(-1, LETTERS), tokens[:, 1:].reshape(-1))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("steps", 3), ("width", 32), ("layers", 1), ("length", 16), ("batch", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    curves, weights = [], None
    for linear, attention in ((nn.Linear, library_attention), (OurLinear, our_attention)):
        torch.manual_seed(0)
        model = Transformer(given.width, given.layers, given.length, linear, attention).to(device)
        weights = weights or {k: v.clone() for k, v in model.state_dict().items()}
        model.load_state_dict(weights)
        curves.append(train(model, batches(given.batch, given.length, given.steps, device)))
    print("step  PyTorch  our kernels")
    for step, (theirs, ours) in enumerate(zip(*curves), 1):
        print(f"{step:4} {theirs:8.4f} {ours:12.4f}", flush=True)
    worst = max(abs(a - b) for a, b in zip(*curves))
    if worst > TOLERANCE:
        raise SystemExit(f"the curves differ by {worst:.4f}, more than {TOLERANCE}")


if __name__ == "__main__":
    main()
