"""`weft.train.GradientSync`."""

from __future__ import annotations

import atexit
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from weft.errors import InvalidArgument, Unsupported
from weft.train.group import group_of
from weft.train.sync.agreement import WHO, agree
from weft.train.sync.lanes import PRIORITIES, Lanes
from weft.train.sync.layout import Bucket, Slot, lay_out
from weft.train.sync.passes import Passes, refuse_late, refuse_sparse
from weft.train.sync.rounds import Rounds
from weft.train.sync.strategy import TREES, Hyperparameters, strategies
from weft.train.sync.updates import Updates, is_separate
from weft.train.sync.wait_choice import FORWARD, STEP, WaitChoice
from weft.train.sync.words import Words

_open: WeakSet[GradientSync] = WeakSet()


@atexit.register
def _unhook() -> None:
    """The collector does not see through torch's hooks, so what they refer to would never go."""
    for sync in list(_open):
        sync._passes.close()


class GradientSync:
    """Averages gradients over the ranks and updates the parameters, a layer at a time.

        sync = weft.train.GradientSync(model, optimizer)
        for images, labels in batches:
            loss(model(images), labels).backward()  # gradients leave while it runs
            sync.step()                             # in place of optimizer.step()
            sync.zero_grad()
        sync.finish()                               # before anything reads parameters

    All ranks then have the parameters that one process would have whose gradients are the mean of
    theirs. docs/training.md says what each strategy does and costs.

    The update of a layer may come as late as the layer's next forward pass. `state_dict()` of the
    model and of the optimizer wait for it. Everything else that reads parameters, and evaluation,
    needs `finish()` first. Until then `parameter.grad` must not be written but by `zero_grad`.

    Args:
        model: a `torch.nn.Module` in the CPU's memory with equal parameters on all ranks
            (`broadcast_parameters` makes them equal). Parameters that the optimizer does not have
            are left alone. Buffers are, too.
        optimizer: one of `torch.optim`. Its groups may have any hyperparameters, and schedulers may
            change them between steps: the values at `step()` count.
        strategy: "allreduce": every rank updates all parameters. "sharded": every rank updates its
            shard of each bucket, all of a bucket up to 128 KiB, and the optimizer's state exists
            for this only. "tree": rank 0 updates all parameters, a layer at a time, and sends them
            down a tree; the optimizer's state exists there only. "flat_tree": the same with whole
            layers and trees that do not know of nodes, as CaffeGPI has it.
        overlap: gradients leave during the backward pass. False: all leave in `step()`.
        priority: layers whose next forward pass comes first may overtake others.
        update: when a tree's master updates a layer. "step": once `step()` was called.
            "backward": as soon as the sum of its gradients is there, during the backward pass, so
            that models come down while gradients go up. `step()` must then follow each backward
            pass. Between the two nothing may read parameters or run the model, and nothing may
            change gradients or hyperparameters: no clipping.
        wait: "forward": a layer is waited for, and updated, at the latest before its next forward
            pass. "step": all are in `step()`. None: the first steps try both by turns, and then all
            ranks take what made steps shorter. That needs overlap and an optimizer of torch that
            may update parameters one after another and has no hooks on its step; else None is
            "step". For trees it is "forward".
        bucket_bytes: small layers travel together until they have this many bytes. None: an
            eighth of the model, so that some travel while others compute, but at least 64 KiB and
            at most 4 MiB: long beside the start of a message, short beside a step.
        elementwise: the optimizer, of a class that Weft does not know, updates each element of a
            parameter from this element's gradient and state alone.
        group: a `weft.Communicator` or a process group of torch. None: torch's default group. It
            is used here only: the collectives run on communicators of their own. For bf16 on the
            wire pass a communicator that was made with `wire="bfloat16"`.

    Raises:
        InvalidArgument: on every rank, naming the rank and the remedy: an option is wrong, or the
            strategy cannot work with the optimizer or a parameter (on another device, sparse, ...).
        Mismatch: on every rank: options, hyperparameters or models differ: names, shapes, dtypes,
            strides or values of parameters. Nothing was changed, and the group stays usable.

    Every method that waits raises the errors of `weft.errors`. After one of them the GradientSync
    is dead, the other ranks get `PeerLost` or `Aborted`, and parameters may be partly updated. As a
    context manager it closes itself, or tells the other ranks if the block raised.

    Not thread safe. A model may be in one GradientSync for each of its optimizers.
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        strategy: str = "allreduce",
        *,
        overlap: bool = True,
        priority: bool = True,
        update: str = "step",
        wait: str | None = None,
        bucket_bytes: int | None = None,
        elementwise: bool = False,
        group: Any = None,
    ) -> None:
        ranks = group_of(group, WHO)
        options = {
            "strategy": strategy, "overlap": overlap, "priority": priority, "update": update,
            "wait": wait, "bucket_bytes": bucket_bytes, "elementwise": elementwise,
        }  # fmt: skip
        agree(ranks, model, optimizer, options)
        lanes = PRIORITIES if priority else 1
        self._layout = lay_out(model, optimizer, bucket_bytes, lanes, ranks.size)
        self._lanes = Lanes(ranks, self._layout.lanes)
        self._who = f"rank {self._lanes.rank}: {WHO}"
        self._updates = Updates(optimizer, elementwise)
        self._choice = WaitChoice(wait or self._default_wait(strategy, overlap, elementwise))
        self._words = Words(self._layout.slots, self._lanes, self._choice)
        self._early = update == "backward"
        early = {"early": True} if self._early else {}
        self._strategy = strategies()[strategy](
            self._layout, self._lanes, self._updates, self._words, **early
        )
        self._rounds = Rounds(self._layout, self._strategy, self._lanes, self._words)
        self._overlap, self._synchronizing = overlap, True
        self._pending: dict[Bucket, Hyperparameters] = {}
        self._has_waited = False
        self._passes = Passes(
            self._layout, self._before_forward, self._before_gradient, self._after_gradient
        )
        self._passes.before_state(optimizer, self.finish)
        _open.add(self)
        self._closed = False

    @property
    def wait(self) -> str | None:
        """The choice of `wait`. None while the first steps try both."""
        return self._choice.chosen

    def step(self, closure: None = None) -> None:
        """Takes a step with the mean of all ranks' gradients. Collective.

        Without a gradient on any rank nothing is updated, as `optimizer.step()` does. A parameter
        that has one on some ranks only counts as zero on the others. A closure is not supported.
        """
        if closure is not None:
            raise Unsupported(
                f"{WHO}: step() takes no closure: call backward() before, and optimizers that need "
                "to evaluate the model again without a GradientSync"
            )
        values = self._updates.hyperparameters()
        self._lanes.guard(self._step, values)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the gradients of the optimizer's parameters, as `optimizer.zero_grad` does.

        With set_to_none=False it first waits for all updates, as `finish` does.
        """
        if self._rounds.open or not self._rounds.needed:
            self._lanes.guard(self._rounds.settle)
            self._rounds.needed = True
        if not set_to_none:
            self._lanes.guard(self._finish_updates)
        for slot in self._layout.slots:
            if set_to_none:
                slot.parameter.grad = None
            elif slot.parameter.grad is not None:
                slot.parameter.grad.detach_().zero_()

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backward passes in it add to this rank's gradients, which stay here.

        The next backward pass outside of it, or `step()`, averages their sum. Enter it on all ranks
        alike.
        """
        before, self._synchronizing = self._synchronizing, False
        self._rounds.needed = True
        try:
            yield
        finally:
            self._synchronizing = before

    def clip_grad_norm_(
        self, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
    ) -> Any:
        """Scales all averaged gradients so that their norm is at most `max_norm`. Collective.

        As `torch.nn.utils.clip_grad_norm_`, between backward() and step(). The norm needs all
        gradients, so this waits for all of them: no gradient then travels under the next forward
        pass, only under the backward pass. With "sharded" the shards' updates still do.

        Returns: the norm before, a tensor of one element, equal on all ranks.
        """
        import torch

        if self._early:
            raise InvalidArgument(
                f"{self._who}: clip_grad_norm_() comes after the updates: make the GradientSync "
                'with update="step"'
            )

        norm = self._lanes.guard(self._norm, float(norm_type))
        if error_if_nonfinite and not torch.isfinite(norm):
            raise RuntimeError(
                f"{self._who}: the norm of the gradients is {norm.item()}: pass "
                "error_if_nonfinite=False to go on with it"
            )
        # As torch, whose bound stays just below max_norm.
        factor = torch.clamp(max_norm / (norm + 1e-6), max=1.0)
        self._strategy.scale(self._rounds.live, factor)
        return norm

    def finish(self) -> None:
        """Waits until all that `step()` began is done: parameters may then be read.

        Local: other ranks need not call it. Call it before evaluation, before saving, and before
        anything else that reads or writes parameters or gradients.

        Raises:
            InvalidArgument: with update="backward", between backward() and step().
        """
        if self._strategy.halfway:
            raise InvalidArgument(self._of_halfway())
        self._lanes.guard(self._finish)

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's `state_dict()`, as if one process had it.

        Collective with "sharded" and trees. It fits any strategy and number of ranks, and an
        optimizer without a GradientSync. Every rank gets the whole state, which needs that much
        memory.
        """
        self.finish()
        return self._lanes.guard(self._strategy.state_dict)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what `state_dict()` gave, here or elsewhere, equal on all ranks."""
        self.finish()
        self._strategy.load_state_dict(state_dict)

    def close(self) -> None:
        """Finishes, removes the hooks and leaves the communicators. Collective.

        The optimizer may then be used by itself. With "sharded" and trees it first gets its whole
        state; if the GradientSync is dead, the state is lost, and the optimizer refuses to step.
        May be called again.
        """
        if self._closed:
            return
        self._closed = True
        halfway = self._strategy.halfway and not self._lanes.dead
        if halfway:
            self._lanes.end(self._of_halfway())
        if not self._lanes.dead:
            self.finish()
            self._lanes.guard(self._strategy.close)
            self._updates.close()
        self._passes.close()
        self._lanes.close()
        if halfway:
            raise InvalidArgument(self._of_halfway())

    def _default_wait(self, strategy: str, overlap: bool, elementwise: bool) -> str | None:
        separate = elementwise or is_separate(self._updates.optimizer)
        if not overlap or not separate or self._updates.has_hooks:
            return STEP
        return FORWARD if strategy in TREES else None

    def _of_halfway(self) -> str:
        return (
            f'{self._who}: update="backward", and step() was not called after the backward pass, '
            "which has updated layers: call it first"
        )

    def __enter__(self) -> GradientSync:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None and not self._closed:
            self._lanes.end(f"{type(error).__name__}: {error}")
        self.close()

    def _step(self, values: Hyperparameters) -> None:
        self._finish_updates()
        self._complete_round()
        later = self._choice.at(self._rounds.steps) == FORWARD
        if later:
            self._pending = dict.fromkeys(self._rounds.live, values)
            self._has_waited = True
            for slot in self._layout.slots:
                slot.entered = False
        self._strategy.begin_update(self._rounds.live, values, later)
        self._updates.note_step()
        self._choice.took(self._rounds.steps, time.perf_counter())
        self._rounds.steps += 1
        self._rounds.needed = True

    def _complete_round(self) -> None:
        """All gradients are on their way."""
        if self._rounds.needed:
            self._rounds.begin()
        self._rounds.end()

    def _norm(self, norm_type: float) -> Any:
        self._finish_updates()
        self._complete_round()
        self._rounds.settle()
        self._rounds.show()
        return self._strategy.norm(self._rounds.live, norm_type)

    def _finish(self) -> None:
        self._choice.interrupt()
        self._finish_updates()
        if self._rounds.open or not self._rounds.needed:
            self._rounds.settle()
            self._rounds.show()
        for slot in self._layout.slots:
            slot.entered = True
        self._strategy.quiet()

    def _finish_updates(self) -> None:
        for bucket in list(self._pending):
            self._finish_update(bucket)

    def _finish_update(self, bucket: Bucket) -> None:
        if bucket in self._pending:
            self._strategy.finish_update(bucket, self._pending[bucket])
            del self._pending[bucket]

    def _before_forward(self, slots: list[Slot]) -> None:
        if self._pending:
            for slot in slots:
                if slot.bucket in self._pending:
                    self._lanes.guard(self._finish_update, slot.bucket)

    def _before_gradient(self, slot: Slot) -> None:
        if self._pending or not slot.entered or self._strategy.under_way(slot.bucket):
            self._lanes.guard(self._make_room, slot)

    def _make_room(self, slot: Slot) -> None:
        """The gradient is written next: nothing else may be using it."""
        self._finish_updates()
        if not slot.entered:
            if self._has_waited:
                refuse_late(slot, self._who)
            self._passes.read_by_whole_model(slot)
            slot.entered = True
        self._strategy.settle(slot.bucket)

    def _after_gradient(self, slot: Slot) -> None:
        self._lanes.guard(self._take, slot)

    def _take(self, slot: Slot) -> None:
        if slot.parameter.grad.layout != slot.parameter.layout:
            refuse_sparse(slot, self._who)
        if not (self._synchronizing and self._overlap):
            return
        if not self._rounds.open:
            import torch

            self._rounds.begin()
            torch.autograd.Variable._execution_engine.queue_callback(self._after_backward)
        self._rounds.arrive(slot)

    def _after_backward(self) -> None:
        self._lanes.guard(self._rounds.end)
