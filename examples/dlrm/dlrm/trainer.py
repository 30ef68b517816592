"""One training step."""

import weakref
from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from weft.optim import SplitSGD
from weft.train import GradientSync

from dlrm.configurations import Configuration
from dlrm.model import DLRM
from dlrm.records import Minibatch
from dlrm.stopwatch import Stopwatch
from dlrm.tables import Split

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}


class Trainer:
    """The model, its two optimizers, and what keeps the perceptrons equal on all ranks.

    The loss is the mean over a rank's records. Perceptrons learn from the mean of the ranks'
    gradients. A table gets the sum of them, since each rank sends its records' part to the owner.
    The tables' learning rate is therefore divided by the number of ranks.

    With bfloat16, weights, gradients and everything that travels are bfloat16. Split-SGD keeps the
    lower halves of the float32 weights.

    Collective, as are `step`, `state`, and `close`. Not thread safe.
    """

    def __init__(
        self,
        shape: Configuration,
        split: Split,
        *,
        lr: float,
        dtype: str = "float32",
        strategy: str = "ddp",
        exchange: str = "alltoall",
        blocking: bool = False,
        seed: int = 0,
    ) -> None:
        """`strategy`: "ddp", or one of GradientSync's. `blocking`: no exchange is overlapped."""
        self.dtype, self.split, self.stopwatch = DTYPES[dtype], split, Stopwatch()
        half = self.dtype == torch.bfloat16
        self.model = DLRM(
            shape, split, exchange=exchange, blocking=blocking, seed=seed,
            dtype=torch.float32 if half else self.dtype, stopwatch=self.stopwatch,
        )  # fmt: skip
        sgd = SplitSGD.from_float32 if half else torch.optim.SGD
        dense = self.model.dense_module
        self._dense_sgd = sgd(dense.parameters(), lr)
        self._table_sgd = sgd(self.model.tables.parameters(), lr / split.ranks)
        self._waits_in_backward = split.ranks > 1 and strategy == "ddp" and not blocking
        self._tables_ready = 0
        if self._waits_in_backward:
            self._update_tables_in_backward()
        self.stopwatch.watch_gradients(list(self.model.parameters()))
        self._sync = None
        if split.ranks > 1 and strategy == "ddp":
            # Most gradients are the top perceptron's, which are ready first. In long buckets they
            # would wait for those of the bottom one.
            wrapped = DistributedDataParallel(dense, gradient_as_bucket_view=True, bucket_cap_mb=1)
            if blocking:
                wrapped.register_comm_hook(self.stopwatch, _allreduce_now)
            self.model.replace_dense(wrapped)
        elif split.ranks > 1:
            self._sync = GradientSync(dense, self._dense_sgd, strategy, overlap=not blocking)

    def step(self, batch: Minibatch) -> torch.Tensor:
        """The loss of this rank's records, before the update."""
        self._tables_ready = 0  # those that have their gradient
        with self.stopwatch.measure("step"):
            with self.stopwatch.measure("forward"):
                loss = loss_of(self.model(batch), batch.labels)
            loss.backward()
            if self._waits_in_backward:
                self.stopwatch.after_backward()
            trained = self._sync or self._dense_sgd
            trained.step()
            if not self._waits_in_backward:
                self._table_sgd.step()
            trained.zero_grad()
            self._table_sgd.zero_grad()
        return loss.detach()

    def _update_tables_in_backward(self) -> None:
        """The tables then learn while the gradients of the perceptrons travel."""
        tables = list(self.model.tables.parameters())
        many = len(tables)
        # Without a cycle DDP's process group goes with the trainer, and Gloo's must.
        trainer = weakref.ref(self)

        def count(_: torch.Tensor) -> None:
            me = trainer()
            assert me is not None, "a backward pass without its trainer"
            me._tables_ready += 1
            if me._tables_ready == many:
                me._table_sgd.step()

        for table in tables:
            table.register_post_accumulate_grad_hook(count)

    @torch.no_grad()
    def evaluate(self, batches: Iterable[Minibatch]) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores and labels of all ranks' records, (records,) each, float32. Collective."""
        self.finish()
        pairs = [(self.model(batch).float(), batch.labels) for batch in batches]
        both = torch.stack([torch.cat(one) for one in zip(*pairs, strict=True)])
        every = [torch.empty_like(both) for _ in range(self.split.ranks)]
        if self.split.ranks > 1:
            dist.all_gather(every, both)
        else:
            every = [both]
        scores, labels = torch.cat(every, dim=1)
        return scores, labels

    def milliseconds(self, steps: int) -> dict[str, float | None]:
        """Of a step: "compute", exposed "allreduce", exposed "alltoall", and "step", their sum.

        GradientSync waits and updates by turns. Its "allreduce" is None, and in "compute".
        """
        parts = {name: 1e3 * one / steps for name, one in self.stopwatch.seconds.items()}
        step = parts["step"]
        exchange = sum(parts.get(f"alltoall {way}", 0.0) for way in ("forward", "backward"))
        allreduce = None if self._sync else parts.get("allreduce", 0.0)
        compute = step - exchange - (allreduce or 0.0)
        return {"compute": compute, "allreduce": allreduce, "alltoall": exchange, "step": step}

    def finish(self) -> None:
        """Afterwards parameters may be read."""
        if self._sync:
            self._sync.finish()

    def close(self) -> None:
        """The last call."""
        if self._sync:
            self._sync.close()

    def state(self) -> dict:
        """What this rank needs to go on: its own tables, the perceptrons, both optimizers."""
        self.finish()
        return {
            "tables": self.model.tables.state_dict(),
            "dense": self.model.dense_module.state_dict(),
            "dense_sgd": (self._sync or self._dense_sgd).state_dict(),
            "table_sgd": self._table_sgd.state_dict(),
        }

    def load(self, state: dict) -> None:
        """Takes what `state` gave on the same rank of the same number of ranks."""
        self.model.tables.load_state_dict(state["tables"])
        self.model.dense_module.load_state_dict(state["dense"])
        (self._sync or self._dense_sgd).load_state_dict(state["dense_sgd"])
        self._table_sgd.load_state_dict(state["table_sgd"])


def loss_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross entropy in at least float32, the mean over the records."""
    wide = logits.double() if logits.dtype == torch.float64 else logits.float()
    return nn.functional.binary_cross_entropy_with_logits(wide, labels.to(wide.dtype))


def _allreduce_now(watch: Stopwatch, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """A hook of DDP that returns when the bucket's mean has arrived."""
    total = bucket.buffer().div_(dist.get_world_size())
    with watch.measure("allreduce"):
        dist.all_reduce(total)
    done: torch.futures.Future[torch.Tensor] = torch.futures.Future()
    done.set_result(total)
    return done
