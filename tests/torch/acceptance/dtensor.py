"""DTensor and tensor parallelism on torch's own checks and models, with Weft in the place of Gloo.

The tests themselves are not in torch's wheel; what they are made of is.
"""
# ruff: noqa: PT009 (torch's assertEqual compares tensors)

import copy
import itertools
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    loss_parallel,
    parallelize_module,
)
from torch.testing._internal.common_utils import instantiate_parametrized_tests, parametrize
from torch.testing._internal.distributed._tensor.common_dtensor import (
    DTensorTestBase,
    MLPModule,
    ModelArgs,
    Transformer,
    with_comms,
)

WORLD_SIZE = int(os.environ["WORLD_SIZE"])

# Operations of one or two matrices, which give what they give whatever way those are sharded.
OPERATIONS = {
    "add": (torch.add, 2),
    "mm": (torch.mm, 2),
    "cat": (lambda a, b: torch.cat([a, b], 1), 2),
    "relu": (torch.relu, 1),
    "transpose": (lambda a: a.t() * 2, 1),
    "sum": (lambda a: a.sum(0), 1),
    "mean": (lambda a: a.mean(), 1),
    "max": (lambda a: a.amax(1), 1),
    "softmax": (lambda a: torch.softmax(a, 1), 1),
    "layer_norm": (lambda a: F.layer_norm(a, a.shape[1:]), 1),
    "variance": (lambda a: a.var(0), 1),
    "slice": (lambda a: a[1:5], 1),
}


class OnWeft(DTensorTestBase):
    """WORLD_SIZE processes."""

    @property
    def world_size(self) -> int:
        """The processes of a test."""
        return WORLD_SIZE

    def init_pg(self, eager_init, backend=None) -> None:
        """Starts the backend, whose name torch's own would refuse."""
        dist.init_process_group(
            os.environ["WEFT_ACCEPTANCE_BACKEND"],
            world_size=self.world_size,
            rank=self.rank,
            init_method=f"file://{self.file_name}",
        )

    def mesh(self, dimensions: int):
        """All ranks in one row, or in two."""
        shape = (WORLD_SIZE,) if dimensions == 1 else (2, WORLD_SIZE // 2)
        return init_device_mesh("cpu", shape)


class TestDTensor(OnWeft):
    """The whole tensor is the same however it is spread."""

    @parametrize("dimensions", [1, 2])
    @parametrize("rows", [8, 5, 1])
    @with_comms
    def test_redistribute(self, dimensions, rows):
        mesh = self.mesh(dimensions)
        whole = torch.arange(rows * 6.0).view(rows, 6)
        spread = [Shard(0), Shard(1), Replicate()]
        for given in itertools.product(spread, repeat=dimensions):
            for wanted in itertools.product(spread, repeat=dimensions):
                start = distribute_tensor(whole, mesh, given)
                end = start.redistribute(mesh, wanted)
                self.assertEqual(end.placements, wanted)
                self.assertEqual(end.to_local(), distribute_tensor(whole, mesh, wanted).to_local())

    @parametrize("dimensions", [1, 2])
    @parametrize("reduction", ["sum", "avg", "max", "min", "product"])
    @with_comms
    def test_partial(self, dimensions, reduction):
        mesh = self.mesh(dimensions)
        parts = [torch.arange(35.0).view(7, 5) % (r + 2) for r in range(WORLD_SIZE)]
        whole = {
            "sum": torch.stack(parts).sum(0),
            "avg": torch.stack(parts).mean(0),
            "max": torch.stack(parts).amax(0),
            "min": torch.stack(parts).amin(0),
            "product": torch.stack(parts).prod(0),
        }[reduction]
        spread = [Shard(0), Shard(1), Replicate()]
        for wanted in itertools.product(spread, repeat=dimensions):
            partial = DTensor.from_local(
                parts[self.rank], mesh, [Partial(reduction)] * dimensions, run_check=False
            )
            self.assertEqual(partial.redistribute(mesh, wanted).full_tensor(), whole)

    @parametrize("dimensions", [1, 2])
    @parametrize("name", list(OPERATIONS))
    @with_comms
    def test_operation(self, dimensions, name):
        operation, operands = OPERATIONS[name]
        torch.manual_seed(3)
        mesh, whole = self.mesh(dimensions), [torch.randn(8, 8) for _ in range(operands)]
        if dimensions == 1:  # torch's check spreads the operands in all ways over one row
            return self._test_op(mesh, operation, *whole)
        for placements in itertools.product([Shard(0), Shard(1), Replicate()], repeat=2):
            spread = [distribute_tensor(tensor, mesh, placements) for tensor in whole]
            self._test_op_on_dtensor(operation, *spread)

    @with_comms
    def test_backward(self):
        mesh = self.mesh(1)
        torch.manual_seed(3)
        whole = torch.randn(8, 6, requires_grad=True)
        (torch.softmax(whole, 1) ** 2).sum().backward()
        for placement in (Shard(0), Shard(1), Replicate()):
            spread = distribute_tensor(whole.detach(), mesh, [placement]).requires_grad_()
            (torch.softmax(spread, 1) ** 2).sum().backward()
            self.assertEqual(spread.grad.full_tensor(), whole.grad)


class TestTensorParallel(OnWeft):
    """A model spread over the ranks computes and trains as the whole one does."""

    def train(self, whole, spread, given) -> None:
        """Some steps of both, with equal outputs."""
        models = (whole, spread)
        optimizers = [torch.optim.SGD(model.parameters(), lr=0.25) for model in models]
        for _ in range(3):
            outputs = []
            for model, optimizer in zip(models, optimizers, strict=True):
                optimizer.zero_grad()
                outputs.append(model(given))
                outputs[-1].square().mean().backward()
                optimizer.step()
            self.assertEqual(outputs[0], outputs[1])
        for one, other in zip(whole.parameters(), spread.parameters(), strict=True):
            self.assertEqual(one, other.full_tensor() if isinstance(other, DTensor) else other)

    @parametrize("sequence_parallel", [False, True])
    @with_comms
    def test_mlp(self, sequence_parallel):
        whole = MLPModule("cpu")
        torch.manual_seed(1)
        given = torch.randn(2 * WORLD_SIZE, 10)
        plan = {"net1": ColwiseParallel(), "net2": RowwiseParallel()}
        if sequence_parallel:
            plan = {
                "net1": ColwiseParallel(input_layouts=Replicate()),
                "net2": RowwiseParallel(output_layouts=Shard(0), use_local_output=False),
            }
        spread = parallelize_module(copy.deepcopy(whole), self.mesh(1), plan)
        if sequence_parallel:
            self.assertEqual(spread(given).placements, (Shard(0),))
            self.assertEqual(spread(given).full_tensor(), whole(given))
        else:
            self.train(whole, spread, given)

    @parametrize("sequence_parallel", [False, True])
    @parametrize("tied", [False, True])
    @with_comms
    def test_transformer(self, sequence_parallel, tied):
        torch.manual_seed(5)
        whole = Transformer(ModelArgs(dropout_p=0.0, weight_tying=tied))
        # Attention on each rank's own heads: DTensor has no rule for the one of CPUs.
        spread = Transformer.parallelize(
            copy.deepcopy(whole), self.mesh(1), sequence_parallel, local_output_for_attn=True
        )
        tokens = torch.randint(0, whole.model_args.vocab_size, (4, 8))
        self.train(whole, spread, tokens)

    @with_comms
    def test_loss_parallel(self):
        mesh = self.mesh(1)
        torch.manual_seed(2)
        scores, wanted = torch.randn(6, 16, requires_grad=True), torch.randint(0, 16, (6,))
        expected = F.cross_entropy(scores, wanted)
        expected.backward()
        spread = distribute_tensor(scores.detach(), mesh, [Shard(1)]).requires_grad_()
        with loss_parallel():
            loss = F.cross_entropy(spread, distribute_tensor(wanted, mesh, [Replicate()]))
            loss.backward()
        self.assertEqual(loss.full_tensor(), expected)
        self.assertEqual(spread.grad.full_tensor(), scores.grad)


for _case in (TestDTensor, TestTensorParallel):
    instantiate_parametrized_tests(_case)
CASES = [TestDTensor, TestTensorParallel]
