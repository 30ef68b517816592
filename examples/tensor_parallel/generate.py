"""Decodes with a small transformer that is split over the ranks: two allreduces a layer and symbol.

torchrun --nproc-per-node 2 generate.py --backend weft gloo    # one after the other, in rounds
python generate.py                                             # one process
"""

import argparse
import codecs
import contextlib
import functools
import io
import json
import os
import statistics
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from transformer import AllReduce, Decoder, Shape, part_of

CORES = len(os.sched_getaffinity(0))
PROMPT = 12  # symbols of the text; the rest the model knows by heart
MOST = Shape.context - PROMPT + 1


def main() -> None:
    """Trains on rank 0, splits the model, decodes with each backend in turn, and compares."""
    options = arguments()
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    backends = options.backend if ranks > 1 else ["none"]
    if ranks > 1:
        dist.init_process_group(backends[0])
    rank = dist.get_rank() if ranks > 1 else 0
    shape, known = Shape(), text()[: Shape.context]

    whole = Decoder(shape)
    if rank == 0:
        seconds = train(whole, known, options.steps)
        print(f"trained {options.steps} steps in {seconds:.1f} s", flush=True)
    if ranks > 1:
        for parameter in whole.state_dict().values():
            dist.broadcast(parameter, 0)
    parts = {backend: split(whole, shape, backend, backends[0]) for backend in backends}

    torch.set_num_threads(max(1, CORES // ranks))
    rates: dict[str, list[float]] = {backend: [] for backend in backends}
    for _ in range(options.rounds):
        for backend, part in parts.items():
            symbols, scores, rate = decode(part, known[:PROMPT], options.tokens)
            rates[backend].append(rate)
    expected, exact, _ = decode(whole, known[:PROMPT], options.tokens)

    result = {
        "ranks": ranks,
        "text": "".join(map(chr, symbols)),
        "same_as_one_process": symbols == expected,
        "largest_difference": (scores - exact).abs().max().item(),
        "symbols_per_second": {name: statistics.median(many) for name, many in rates.items()},
    }
    if rank == 0:
        report(result)
        if options.json:
            options.json.write_text(json.dumps(result))
    if ranks > 1:
        dist.destroy_process_group()


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="example: torchrun --nproc-per-node 2 generate.py --backend weft gloo --rounds 5",
    )
    parser.add_argument("--backend", nargs="+", choices=["weft", "gloo"], default=["weft"])
    parser.add_argument("--steps", type=int, default=60, help="of training (60: a dozen seconds)")
    parser.add_argument("--tokens", type=int, default=200, help=f"symbols to decode, to {MOST}")
    parser.add_argument("--rounds", type=int, default=5, help="decodes with each backend")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    options = parser.parse_args()
    if not 1 <= options.tokens <= MOST:
        parser.error(f"--tokens is {options.tokens}; give 1 to {MOST}")
    return options


def text() -> torch.Tensor:
    """Symbols of the Zen of Python, which every Python has."""
    with contextlib.redirect_stdout(io.StringIO()):
        import this
    return torch.tensor([ord(letter) for letter in codecs.decode(this.s, "rot13")])


def train(whole: Decoder, known: torch.Tensor, steps: int) -> float:
    """Learns the text by heart. Returns the seconds that it took."""
    torch.manual_seed(0)
    torch.set_num_threads(CORES)  # the other ranks wait
    for parameter in whole.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.02)
    optimizer = torch.optim.AdamW(whole.parameters(), lr=4e-4)
    start = time.perf_counter()
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(whole(known[None, :-1])[0], known[1:]).backward()
        optimizer.step()
    return time.perf_counter() - start


def split(whole: Decoder, shape: Shape, backend: str, default: str) -> Decoder:
    """This rank's part, completed by allreduces of `backend`."""
    if backend == "none":
        return whole
    group = dist.group.WORLD if backend == default else dist.new_group(backend=backend)
    part = Decoder(shape, group.size(), all_reduce_by(group, backend))
    part.load_state_dict(part_of(whole.state_dict(), shape, group.rank(), group.size()))
    return part


def all_reduce_by(group: dist.ProcessGroup, backend: str) -> AllReduce:
    """The shortest way to an allreduce in place that the backend has."""
    if backend == "weft":
        return functools.partial(torch.ops.weft.all_reduce_, group=group.group_name)

    def all_reduce(tensor: torch.Tensor) -> torch.Tensor:
        dist.all_reduce(tensor, group=group)
        return tensor

    return all_reduce


@torch.inference_mode()
def decode(
    model: Decoder, prompt: torch.Tensor, count: int
) -> tuple[list[int], torch.Tensor, float]:
    """`count` symbols, each the likeliest; the last one's scores; symbols a second."""
    symbols = prompt.tolist()
    for position, symbol in enumerate(symbols[:-1]):
        model(torch.tensor([[symbol]]), position)
    start = time.perf_counter()
    for position in range(len(symbols) - 1, len(symbols) - 1 + count):
        scores = model(torch.tensor([[symbols[-1]]]), position)[0, 0]
        symbols.append(int(scores.argmax()))
    return symbols, scores, count / (time.perf_counter() - start)


def report(result: dict) -> None:
    """For people."""
    print(result["text"])
    print(f"the same as one process: {result['same_as_one_process']}")
    for backend, rate in result["symbols_per_second"].items():
        name = backend if result["ranks"] > 1 else "one process"
        print(f"{name:12} {rate:7.1f} symbols a second")


if __name__ == "__main__":
    main()
