"""The tables of dlrm_scaling.md."""

from __future__ import annotations

from collections.abc import Callable

from scaling.cases import CORES, GRID, NODE_CONFIGURATIONS, NODES, SCALINGS, Row, records, shape
from scaling.figures import communication, compute, efficiency, operators, speed_up, step
from scaling.simulation import FAST_BF16, VARIED
from scaling.sockets import slowdowns, socket, software

from page import digits, of, size, table

BACKENDS = {"workers": "own cores", "stealing": "stealing"}


def goals(rows: list[Row]) -> str:
    """The speed-ups that are asked for."""
    lines = []
    for name, one in SCALINGS.items():
        own, other = (speed_up(rows, name, one.at, backend=backend) for backend in BACKENDS)
        met = "reached" if own >= one.goal else "**not reached**"
        said, said_of_mpi = (_range(*one.said[backend]) for backend in BACKENDS)
        lines.append([name, f"{one.baseline} → {one.at}", f"**{own:.1f}**", f"{one.goal:g}", met,
                      said, f"{other:.1f}", said_of_mpi])  # fmt: skip
    return table(["configuration", "sockets", "own cores", "goal", "", "document, oneCCL",
                  "stealing", "document, MPI, about"], lines)  # fmt: skip


def _range(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def scaling(rows: list[Row], part: str) -> str:
    """Strong or weak scaling on the cluster."""
    lines = []
    for name, one in SCALINGS.items():
        for sockets in one.sockets:
            cells = [name, str(sockets), str(records(name, part, sockets))]
            for backend in BACKENDS:
                row = step(rows, part=part, configuration=name, sockets=sockets, backend=backend)
                share = 100 * efficiency(rows, name, sockets, part, backend)
                gained = speed_up(rows, name, sockets, part=part, backend=backend)
                cells += [digits(1e3 * row["seconds"]), f"{gained:.2f}", f"{share:.0f}%"]
            lines.append(cells)
    words = [f"{what}, {backend}" for backend in BACKENDS.values()
             for what in ("ms", "speed-up", "efficiency")]  # fmt: skip
    return table(["configuration", "sockets", "records of a socket", *words], lines)


def breakdown(rows: list[Row]) -> str:
    """Compute and exposed communication, blocking and overlapping."""
    lines = []
    for name in ("large", "mlperf"):
        for sockets in SCALINGS[name].sockets:
            for backend, words in BACKENDS.items():
                cells = [name, str(sockets), words]
                for blocking in (True, False):
                    row = step(rows, part="strong", configuration=name, sockets=sockets,
                               backend=backend, blocking=blocking)  # fmt: skip
                    parts = compute(row), row["exchange"], row["gradients"]
                    cells.append(" + ".join(digits(1e3 * part) for part in parts))
                if sockets > 1:
                    lines.append(cells)
    header = ["configuration", "sockets", "communication",
              "blocking: compute + exchange + gradients, ms", "overlapping, ms"]  # fmt: skip
    return table(header, lines)


def by_operator(operator_rows: list[Row]) -> str:
    """Operators at the baseline and at the goal's sockets, and how much shorter they became."""
    lines: dict[str, list[str]] = {}
    for name, one in SCALINGS.items():
        base = operators(operator_rows, name, one.baseline)
        for what, seconds in operators(operator_rows, name, one.at).items():
            cell = (
                f"{digits(1e3 * base[what])} → {digits(1e3 * seconds)} ({base[what] / seconds:.1f})"
            )
            lines.setdefault(what, []).append(cell)
    header = [f"{name}, {one.baseline} → {one.at} sockets, ms" for name, one in SCALINGS.items()]
    return table(["operator", *header], [[what, *cells] for what, cells in lines.items()])


def varied(rows: list[Row]) -> str:
    """The goals' speed-ups if something else is assumed."""
    lines = [["as assumed", *(f"{speed_up(rows, n, one.at):.1f}" for n, one in SCALINGS.items())]]
    for assumed in VARIED:
        gained = [speed_up(rows, name, one.at, assumed=assumed.name)
                  for name, one in SCALINGS.items()]  # fmt: skip
        lines.append([assumed.name, *(f"{one:.1f}" for one in gained)])
    header = [f"{name}, {one.baseline} → {one.at}" for name, one in SCALINGS.items()]
    return table(["assumed", *header], lines)


def nodes(rows: list[Row]) -> str:
    """The two nodes of Fig. 8: each number of sockets."""
    lines = []
    for name in NODE_CONFIGURATIONS:
        for topology, (sockets, dtypes) in NODES.items():
            for count in sockets:
                cells = [name, topology, str(count)]
                for dtype in ("float32", "bfloat16"):
                    if dtype not in dtypes:
                        cells += ["", ""]
                        continue
                    own = [step(rows, part="strong", configuration=name, topology=topology,
                                sockets=count, dtype=dtype, backend="workers", blocking=blocking)
                           for blocking in (False, True)]  # fmt: skip
                    cells += [digits(1e3 * own[0]["seconds"]), digits(1e3 * communication(own[1]))]
                lines.append(cells)
    return table(["configuration", "node", "sockets", "float32, ms", "communication, blocking, ms",
                  "bf16, ms", "communication, blocking, ms"], lines)  # fmt: skip


def node_ratios(rows: list[Row]) -> str:
    """What the document says of its nodes, and what the simulation has."""
    lines = []
    for name in NODE_CONFIGURATIONS:
        cpx = {(count, dtype, blocking): step(rows, part="strong", configuration=name,
                                              topology="cpx4", sockets=count, dtype=dtype,
                                              backend="workers", blocking=blocking)
               for count in NODES["cpx4"][0] for dtype in NODES["cpx4"][1]
               for blocking in (False, True)}  # fmt: skip
        skx = step(rows, part="strong", configuration=name, topology="skx8", sockets=8,
                   backend="workers")  # fmt: skip
        fast = {n: step(rows, part="strong", configuration=name, topology="cpx4", sockets=n,
                        dtype="bfloat16", backend="workers", assumed=FAST_BF16.name)
                for n in NODES["cpx4"][0]}  # fmt: skip
        single = {n: cpx[n, "float32", False]["seconds"] for n in NODES["cpx4"][0]}
        gains = [single[n] / cpx[n, "bfloat16", False]["seconds"] for n in single]
        fast_gains = [single[n] / fast[n]["seconds"] for n in single]
        shares = [communication(cpx[n, "float32", True]) / communication(cpx[n, "bfloat16", True])
                  for n in NODES["cpx4"][0] if n > 1]  # fmt: skip
        against = [
            skx["seconds"] / one["seconds"]
            for one in (cpx[4, "float32", False], cpx[4, "bfloat16", False], fast[4])
        ]
        cells = [" / ".join(f"{one:.2f}" for one in ones)
                 for ones in (gains, fast_gains, shares, against)]  # fmt: skip
        lines.append([name, *cells, {"small": "1", "mlperf": "2"}[name]])
    return table(["configuration", "bf16 over float32 on 1 / 2 / 4 sockets (document: up to 1.8)",
                  "the same, with bf16 products twice as fast as float32's",
                  "communication, float32 over bf16, on 2 / 4 (close to 2)",
                  "four of cpx4 in float32 / bf16 / bf16 with fast products, over eight of skx8",
                  "document"], lines)  # fmt: skip


def checks(rows: list[Row]) -> str:
    """Collectives beside their formulas."""
    lines = [
        [row["collective"], row["configuration"], str(row["sockets"]), f"{row['bytes'] / 1e6:.1f}",
         f"{1e3 * row['seconds']:.3f}", f"{1e3 * row['formula']:.3f}",
         f"{row['seconds'] / row['formula']:.3f}"]
        for row in of([row for row in rows if "collective" in row], part="collective")
    ]  # fmt: skip
    return table(["collective", "configuration", "sockets", "MB of a rank", "simulated, ms",
                  "formula, ms", "ratio"], lines)  # fmt: skip


def measured(operator_rows: list[Row]) -> str:
    """What a core did here: products by the records of a socket, rows of tables."""
    lines = []
    rows, columns = GRID
    for name, dtype, (inputs, outputs) in (
        ("small", "float32", (1024, 1024)), ("small", "bfloat16", (1024, 1024)),
        ("mlperf", "float32", (1024, 1024)), ("mlperf", "bfloat16", (1024, 1024)),
        ("mlperf", "float32", (512, 256)), ("large", "float32", (4096, 4096)),
    ):  # fmt: skip
        seconds = socket(operator_rows, name, dtype, 1.0).seconds
        for count in (min(seconds), max(seconds)):
            flops = 2 * -(-count // rows) * inputs * -(-outputs // columns)
            taken = seconds[count][f"forward {inputs}x{outputs}"]
            lines.append([f"{name}, forward {inputs} x {outputs}", dtype, str(count),
                          f"{flops / taken / 1e9:.0f} GFLOP/s"])  # fmt: skip
    for name in SCALINGS:
        one, tables = shape(name), socket(operator_rows, name, "float32", 1.0).tables
        moved = -(-one.minibatch // CORES) * one.lookups * one.dimension * 4
        for what in ("lookup", "sparse update"):
            rate = f"{moved / tables[what] / 1e9:.1f} GB/s of rows"
            row = f"{name}, {what}, {size(one.dimension * 4)}B a row"
            lines.append([row, "float32", str(one.minibatch), rate])
    return table(["operator", "type", "records of a socket", "one core"], lines)


def communicating(operator_rows: list[Row]) -> str:
    """The slowdowns and the rates of a worker; least and greatest of the rounds behind them."""
    rounds = sorted({row["turn"]["round"] for row in operator_rows})
    each = [[row for row in operator_rows if row["turn"]["round"] == one] for one in rounds]

    def line(what: str, of_rows: Callable[[list[Row]], float], unit: str) -> list[str]:
        low, *_, high = sorted(of_rows(own) for own in each)
        return [what, f"{of_rows(operator_rows):.2f} {unit} ({low:.2f} to {high:.2f})"]

    longer = "computes longer while the worker is on"
    return table(["what", "measured"], [
        line(f"{longer} another core", lambda rows: slowdowns(rows)["workers"], "times"),
        line(f"{longer} the same core", lambda rows: slowdowns(rows)["stealing"], "times"),
        line("copies of a worker", lambda rows: software(rows)["copy"] / 1e9, "GB/s"),
        line("sums, both sources counted", lambda rows: software(rows)["reduce"] / 1e9, "GB/s"),
        line("a step of a plan", lambda rows: 1e9 * software(rows)["step"], "ns"),
        line("a call", lambda rows: 1e9 * software(rows)["call"], "ns"),
    ])  # fmt: skip
