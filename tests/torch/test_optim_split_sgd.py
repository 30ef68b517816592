"""weft.optim.SplitSGD: to the bit float32 SGD, fed the same bfloat16 gradients."""

from __future__ import annotations

import copy
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from group import world  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

from weft.errors import InvalidArgument, Unsupported  # noqa: E402
from weft.optim import SplitSGD  # noqa: E402
from weft.train import GradientSync  # noqa: E402

SPECIAL = [0.0, -0.0, 1e-45, -1e-40, 3.4e38, -3.4e38, float("inf"), float("-inf"), float("nan")]
OPTIONS = [
    {},
    {"weight_decay": 0.3},
    {"momentum": 0.9},
    {"momentum": 0.7, "dampening": 0.4},
    {"momentum": 0.9, "weight_decay": 1e-3},
    {"momentum": 0.9, "weight_decay": 1e-3, "nesterov": True},
]


def numbers(*shape, special=True):
    """Normal numbers of many sizes with zeros, denormals, infinities and NaN among them."""
    x = torch.randn(shape) * 10 ** torch.randint(-3, 3, shape)
    if special:
        at = torch.rand(shape) < 0.05
        x[at] = torch.tensor(SPECIAL)[torch.randint(0, len(SPECIAL), (int(at.sum()),))]
    return x


def bits(x):
    """The bits of each float32; one NaN is like another."""
    return torch.where(x.isnan(), torch.nan, x).view(torch.int32)


class RoundedSGD(torch.optim.Optimizer):
    """torch.optim.SGD with every product rounded: each is an operation by itself."""

    def __init__(self, params, lr, momentum=0, dampening=0, weight_decay=0, nesterov=False):
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening,
            "weight_decay": weight_decay, "nesterov": nesterov,
        })  # fmt: skip

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad.is_sparse:
                    for row, value in zip(p.grad._indices()[0], p.grad._values(), strict=True):
                        p[row] += value * -group["lr"]
                    continue
                grad, factor, state = p.grad, group["momentum"], self.state[p]
                if group["weight_decay"]:
                    grad = grad + p * group["weight_decay"]
                if factor:
                    if "b" in state:
                        state["b"] = state["b"] * factor + grad * (1 - group["dampening"])
                    else:
                        state["b"] = grad.clone()
                    grad = grad + state["b"] * factor if group["nesterov"] else state["b"]
                p += grad * -group["lr"]


def compare(reference, shapes, options, steps=4, lr=0.1, sparse=False):
    """Trains both on the same gradients; every weight has to have the same bits."""
    wide = [torch.nn.Parameter(numbers(*shape)) for shape in shapes]
    halves = [torch.nn.Parameter(one.detach().clone()) for one in wide]
    ours, theirs = SplitSGD.from_float32(halves, lr, **options), reference(wide, lr, **options)
    for step in range(steps):
        for p, q in zip(halves, wide, strict=True):
            p.grad = rows_of(p) if sparse else numbers(*p.shape).bfloat16()
            q.grad = p.grad.float()
        ours.step()
        theirs.step()
        for group in ours.param_groups + theirs.param_groups:
            group["lr"] = lr / (step + 2)
        for p, q in zip(halves, wide, strict=True):
            assert torch.equal(bits(ours.float32_weight(p)), bits(q.detach()))


def rows_of(parameter, entries=40):
    """A gradient of some rows, most of them several times."""
    rows = torch.randint(0, max(1, parameter.shape[0] // 2), (1, entries))
    values = numbers(entries, *parameter.shape[1:]).bfloat16()
    return torch.sparse_coo_tensor(rows, values, parameter.shape, check_invariants=True)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_bits_of_float32(options):
    torch.manual_seed(1)
    for lr in (1e-3, 0.0, 7.3):
        compare(
            RoundedSGD, [(n,) for n in (*range(1, 70, 3), 1000)] + [(3, 5, 7), ()], options, lr=lr
        )


def test_threads_share_a_long_parameter():
    torch.manual_seed(6)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        compare(RoundedSGD, [((3 << 20) + 5,)], {"momentum": 0.9}, steps=2)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("shape", [(10, 1), (10, 3), (7, 16), (50, 100), (6, 3, 5)])
def test_bits_of_sparse(shape):
    torch.manual_seed(2)
    compare(RoundedSGD, [shape], {}, sparse=True)


AGAINST_TORCH = """
import sys, torch
sys.path[:0] = {path!r}
import test_optim_split_sgd as here
assert torch.backends.cpu.get_cpu_capability() == "DEFAULT"
for foreach in (False, True):
    for options in here.OPTIONS:
        def sgd(*given, **factors):
            return torch.optim.SGD(*given, **factors, foreach=foreach)
        here.compare(sgd, [(n,) for n in range(1, 40)] + [(1000,), (31, 33)], options)
    here.compare(sgd, [(10, 1), (50, 100), (6, 3, 5)], {{}}, sparse=True)
print("same")
"""


def test_bits_of_torch_where_it_does_not_fuse():
    code = AGAINST_TORCH.format(path=[os.path.dirname(__file__)])
    environment = os.environ | {
        "ATEN_CPU_CAPABILITY": "default",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.stdout.strip() == "same", done.stderr


def test_an_embedding_learns_what_it_learns_in_float32():
    torch.manual_seed(3)
    table = torch.nn.Embedding(20, 8, sparse=True)
    wide = copy.deepcopy(table.weight)
    ours = SplitSGD.from_float32(table.parameters(), 0.5)
    theirs = RoundedSGD([wide], 0.5)
    for _ in range(5):
        ours.zero_grad()
        table(torch.randint(0, 20, (30,))).square().sum().backward()
        wide.grad = table.weight.grad.float()
        ours.step()
        theirs.step()
    assert torch.equal(bits(ours.float32_weight(table.weight)), bits(wide.detach()))


def test_from_float32_loses_nothing_and_truncates():
    weight = torch.nn.Parameter(torch.tensor([1 + 2**-9, -3.0, 1e-45]))
    before, same = weight.detach().clone(), weight
    optimizer = SplitSGD.from_float32([{"params": weight, "lr": 0.5}], 0.1, momentum=0.9)
    assert weight is same
    assert weight.dtype == torch.bfloat16
    assert weight[0].item() == 1.0
    assert torch.equal(bits(optimizer.float32_weight(weight)), bits(before))
    assert optimizer.param_groups[0]["lr"] == 0.5
    named = torch.nn.Linear(3, 2)
    optimizer = SplitSGD.from_float32(named.named_parameters(), 0.1)
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert next(named.parameters()).dtype == torch.bfloat16


def test_a_thread_that_flushes_denormals_gets_the_same_bits():
    kept = torch.full((70,), 1e-40).view(torch.int32)
    weight = torch.nn.Parameter(kept.clone().view(torch.float32))
    optimizer = SplitSGD.from_float32([weight], 0.5)
    weight.grad = torch.full((70,), 2**-133).bfloat16()  # a denormal, too
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor has no such mode")
    try:
        optimizer.step()
    finally:
        torch.set_flush_denormal(False)
    expected = kept.view(torch.float32) - 0.5 * torch.full((70,), 2.0**-133)
    assert torch.equal(bits(optimizer.float32_weight(weight)), bits(expected))


def test_four_bytes_a_weight():
    weight = torch.nn.Parameter(torch.zeros(100, dtype=torch.bfloat16))
    optimizer = SplitSGD([weight], 0.1)
    weight.grad = torch.ones_like(weight)
    optimizer.step()
    held = [weight, *optimizer.state[weight].values()]
    assert sum(one.numel() * one.itemsize for one in held) == 400


def net_of(seed):
    torch.manual_seed(seed)
    net = torch.nn.Sequential(torch.nn.Linear(6, 9), torch.nn.Tanh(), torch.nn.Linear(9, 1))
    optimizer = SplitSGD.from_float32(
        [{"params": net[0].parameters()}, {"params": net[2].parameters(), "lr": 0.3}],
        0.1, momentum=0.9, weight_decay=0.01,
    )  # fmt: skip
    return net, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)


def train(net, optimizer, schedule, steps):
    for step in steps:
        torch.manual_seed(step)
        optimizer.zero_grad()
        net(torch.randn(4, 6).bfloat16()).float().square().sum().backward()
        optimizer.step()
        schedule.step()


def test_a_checkpoint_resumes_to_the_bit(tmp_path):
    whole, parted, resumed = net_of(0), net_of(0), net_of(1)
    train(*whole, range(6))
    train(*parted, range(3))
    torch.save([part.state_dict() for part in parted], tmp_path / "saved")
    for part, state in zip(resumed, torch.load(tmp_path / "saved"), strict=True):
        part.load_state_dict(state)
    train(*resumed, range(3, 6))
    for p, q in zip(whole[0].parameters(), resumed[0].parameters(), strict=True):
        assert torch.equal(bits(whole[1].float32_weight(p)), bits(resumed[1].float32_weight(q)))


def test_another_optimizers_state_is_refused():
    net, optimizer, _ = net_of(0)
    before = copy.deepcopy(optimizer.state_dict())
    plain = torch.optim.SGD([{"params": net[0].parameters()}, {"params": net[2].parameters()}], 0.1)
    with pytest.raises(InvalidArgument, match=r"parameter 0 .*'low' is missing"):
        optimizer.load_state_dict(plain.state_dict())
    state = copy.deepcopy(before)
    state["state"][1]["low"] = state["state"][1]["low"].float()
    with pytest.raises(InvalidArgument, match=r"parameter 1 .*float32"):
        optimizer.load_state_dict(state)
    assert torch.equal(optimizer.state_dict()["state"][0]["low"], before["state"][0]["low"])


def test_a_strided_parameter_is_updated_where_it_lies():
    torch.manual_seed(4)
    wide = torch.nn.Parameter(torch.randn(4, 3, 5, 5).to(memory_format=torch.channels_last))
    halves = torch.nn.Parameter(wide.detach().clone())
    ours = SplitSGD.from_float32([halves], 0.1, momentum=0.9)
    theirs = RoundedSGD([wide], 0.1, momentum=0.9)
    place = halves.data_ptr()
    for _ in range(3):
        halves.grad = torch.randn(4, 3, 5, 5).bfloat16()
        wide.grad = halves.grad.float()
        ours.step()
        theirs.step()
    assert halves.data_ptr() == place
    assert not halves.is_contiguous()
    assert torch.equal(bits(ours.float32_weight(halves)), bits(wide.detach().contiguous()))


def test_autograd_notices_a_step():
    weight = torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
    optimizer = SplitSGD([weight], 0.1)
    weight.grad = torch.ones_like(weight)
    loss = (weight * weight).sum()
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        ({"lr": -1.0}, "lr is -1.0"),
        ({"lr": float("nan")}, "lr is nan"),
        ({"lr": "fast"}, "lr is 'fast'"),
        ({"momentum": -0.1}, "momentum is -0.1"),
        ({"weight_decay": float("inf")}, "weight_decay is inf"),
        ({"nesterov": True}, "nesterov needs a momentum"),
    ],
    ids=str,
)
def test_wrong_factors(factors, said):
    weight = torch.nn.Parameter(torch.zeros(2))
    with pytest.raises(InvalidArgument, match=said):
        SplitSGD.from_float32([weight], **{"lr": 0.1, **factors})
    assert weight.dtype == torch.float32
    with pytest.raises(InvalidArgument, match=said):
        SplitSGD([weight.detach().bfloat16()], **{"lr": 0.1, **factors})


def test_wrong_parameters():
    half, single = (torch.zeros(2, dtype=t) for t in (torch.bfloat16, torch.float32))
    with pytest.raises(InvalidArgument, match=r"float32: convert it by SplitSGD\.from_float32"):
        SplitSGD([half, single], 0.1)
    with pytest.raises(InvalidArgument, match="bfloat16: give float32"):
        SplitSGD.from_float32([single, half], 0.1)
    assert single.dtype == torch.float32
    with pytest.raises(InvalidArgument, match="meta"):
        SplitSGD([half.to("meta")], 0.1)


def test_a_refused_gradient_changes_nothing():
    first = torch.nn.Parameter(torch.ones(4, 2, dtype=torch.bfloat16))
    table = torch.nn.Parameter(torch.ones(4, 2, dtype=torch.bfloat16))
    first.grad = torch.ones_like(first)
    table.grad = rows_of(table)
    for factors in ({"momentum": 0.9}, {"weight_decay": 0.1}):
        with pytest.raises(Unsupported, match="sparse"):
            SplitSGD([first, table], 0.1, **factors).step()
    place, one = torch.tensor([[0], [1]]), torch.ones(1).bfloat16()
    table.grad = torch.sparse_coo_tensor(place, one, (4, 2), check_invariants=True)
    with pytest.raises(Unsupported, match="sparse in rows"):
        SplitSGD([first, table], 0.1).step()
    assert first.eq(1).all()
    assert table.eq(1).all()


def test_a_parameter_without_gradient_stays():
    weights = [torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16)) for _ in range(2)]
    optimizer = SplitSGD(weights, 0.5)
    weights[0].grad = torch.ones_like(weights[0])
    assert optimizer.step(lambda: 7) == 7
    assert [one.tolist() for one in weights] == [[0.5, 0.5], [1.0, 1.0]]


def test_a_state_of_another_type_is_refused():
    weight = torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
    optimizer = SplitSGD([weight], 0.5, momentum=0.9)
    weight.grad = torch.ones_like(weight)
    optimizer.state[weight]["momentum_buffer"] = torch.zeros(3, dtype=torch.bfloat16)
    with pytest.raises(InvalidArgument, match=r"momentum has 3 .*bfloat16, not 3 .*float32"):
        optimizer.step()
    assert weight.eq(1).all()


def over_ranks(job, strategy):
    """The float32 weights after training on two ranks, as bits."""
    with world(job):
        net, optimizer, _ = net_of(0)
        model = DistributedDataParallel(net) if strategy == "ddp" else net
        sync = optimizer if strategy == "ddp" else GradientSync(net, optimizer, strategy)
        for step in range(4):
            torch.manual_seed(10 * step + job.rank)
            model(torch.randn(4, 6).bfloat16()).float().square().sum().backward()
            sync.step()
            sync.zero_grad()
        if strategy != "ddp":
            sync.finish()
            sync.close()
        return [bits(optimizer.float32_weight(p)).tolist() for p in net.parameters()]


def test_gradient_sync_trains_it_as_ddp_does(team):
    expected = team(2).run(over_ranks, "ddp")
    assert expected[0] == expected[1]
    for strategy in ("allreduce", "sharded"):
        assert team(2).run(over_ranks, strategy) == expected
