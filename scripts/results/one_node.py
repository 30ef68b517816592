"""Writes the tables of docs/results/README.md from what `make bench` measured."""

from __future__ import annotations

from page import digits, fill, read, size, table

COLLECTIVES = ["allreduce", "broadcast", "alltoall", "allgather", "reduce_scatter"]
NAMES = {
    "openmpi": "Open MPI",
    "mpich": "MPICH",
    "intelmpi": "Intel MPI",
    "oneccl": "oneCCL",
    "gloo": "Gloo",
}
Case = dict[str, float]  # median microseconds by library


def cases(name: str) -> list[tuple[int, Case]]:
    """The cases of a file, by size.

    Raises:
        ValueError: some result was wrong.
    """
    found: dict[int, Case] = {}
    for row in read(name):
        if not row["correct"]:
            raise ValueError(f"{name}: {row['library']} was wrong at {row['bytes']} bytes")
        found.setdefault(row["bytes"], {})[row["library"]] = row["median_us"]
    return list(found.items())


def against_fastest(case: Case) -> str:
    """Weft / the fastest peer = ratio."""
    peers = {name: time for name, time in case.items() if name not in ("weft", "limit")}
    fastest = min(peers, key=lambda name: peers[name])
    ratio = case["weft"] / peers[fastest]
    return f"{digits(case['weft'])} / {digits(peers[fastest])} {NAMES[fastest]} = **{ratio:.2f}**"


def against_gloo(case: Case) -> str:
    """Weft / Gloo = times faster."""
    ratio = case["gloo"] / case["weft"]
    return f"{digits(case['weft'])} / {digits(case['gloo'])} = **{ratio:.1f}**"


def columns(files: dict[str, str], cell) -> str:
    """A table with a column for each file; sizes are the first one's."""
    data = [cases(name) for name in files.values()]
    rows = [
        [size(data[0][i][0]), *(cell(column[i][1]) for column in data)] for i in range(len(data[0]))
    ]
    return table(["bytes", *files], rows)


def main() -> None:
    """Writes all tables."""
    symmetric = "allreduce, symmetric"
    first = {"allreduce": "allreduce", symmetric: "allreduce_symmetric", "broadcast": "broadcast"}
    parts = {
        "two ranks": columns(first, against_fastest)
        + "\n\n"
        + columns({name: name for name in COLLECTIVES[2:]}, against_fastest)
    }
    for count, word in ((4, "four ranks"), (8, "eight ranks")):
        files = {name: f"{name}_{count}_ranks" for name in COLLECTIVES}
        parts[word] = columns(files, against_fastest)
    torch = {name: f"{name}_torch" for name in COLLECTIVES}
    parts["torch"] = columns(
        {"allreduce": torch.pop("allreduce"), symmetric: "allreduce_torch_symmetric", **torch},
        against_gloo,
    )
    fill("README", parts)


if __name__ == "__main__":
    main()
