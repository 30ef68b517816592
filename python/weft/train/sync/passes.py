"""What the passes through the model tell: a gradient has come, a module is about to run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.errors import InvalidArgument, Unsupported
from weft.train.sync.layout import Layout, Slot


class Passes:
    """Hooks on the modules and the parameters.

    before_forward(slots): a module that reads these is about to run.
    before_gradient(slot): the backward pass is about to add to the gradient.
    after_gradient(slot): it has.

    They run a dozen times in a step of a small model, on caches that hold the model: each call
    counts.

    A parameter may be read outside the forward passes of its modules, as in
    `F.linear(x, other.weight)`. The first backward pass shows that. From then on it counts as read
    when the whole model is called. A parameter that shows only later that it is so read may have
    been read before its update: that is an error, and no wrong number.
    """

    def __init__(
        self,
        layout: Layout,
        before_forward: Callable[[list[Slot]], None],
        before_gradient: Callable[[Slot], None],
        after_gradient: Callable[[Slot], None],
    ) -> None:
        self._before_forward = before_forward
        self._before_gradient, self._after_gradient = before_gradient, after_gradient
        self._layout = layout
        # Those whose forward pass matters here: a hook costs as much as a small layer's own call.
        self._readers = {module: slots for module, slots in layout.modules.items() if slots}
        self._readers.setdefault(layout.model, [])
        self._handles: list[Any] = []
        self._unhooked = list(layout.slots)
        self._hook_parameters()
        for module in self._readers:
            # A function, and no method: a deep copy of the model does not copy functions.
            self._handles.append(
                module.register_forward_pre_hook(lambda m, _: self._forward(m), prepend=True)
            )

    def read_by_whole_model(self, slot: Slot) -> None:
        """From now on the slot's parameter counts as read when the model is called."""
        self._readers[self._layout.model] = [*self._readers[self._layout.model], slot]

    def before_state(self, optimizer: Any, call: Callable[[], None]) -> None:
        """Calls before the states of the model and of the optimizer are read or replaced."""
        for module in self._layout.modules:
            self._handles.append(module.register_state_dict_pre_hook(lambda *_: call()))
            self._handles.append(module.register_load_state_dict_pre_hook(lambda *_: call()))
        self._handles.append(optimizer.register_state_dict_pre_hook(lambda _: call()))
        self._handles.append(optimizer.register_load_state_dict_pre_hook(lambda *_: call()))

    def close(self) -> None:
        """Removes the hooks."""
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _forward(self, module: Any) -> None:
        if self._unhooked:
            self._hook_parameters()
        # A deep copy of the model has the hooks, too.
        if slots := self._readers.get(module):
            for slot in slots:
                slot.entered = True
            self._before_forward(slots)

    def _hook_parameters(self) -> None:
        """Torch allows hooks only on what requires a gradient, which may change."""
        now = [slot for slot in self._unhooked if slot.parameter.requires_grad]
        self._unhooked = [slot for slot in self._unhooked if not slot.parameter.requires_grad]
        for slot in now:
            parameter = slot.parameter
            self._handles.append(
                parameter.register_hook(lambda _, slot=slot: self._before_gradient(slot))
            )
            self._handles.append(
                parameter.register_post_accumulate_grad_hook(
                    lambda _, slot=slot: self._after_gradient(slot)
                )
            )


def refuse_sparse(slot: Slot, who: str) -> None:
    """A gradient that has its own indices has no place in a bucket."""
    raise Unsupported(
        f"{who}: the gradient of {slot.name} is sparse ({slot.parameter.grad.layout}): make its "
        "layer with sparse=False"
    )


def refuse_late(slot: Slot, who: str) -> None:
    """The parameter was read although its update may not have been there."""
    raise InvalidArgument(
        f"{who}: {slot.name} has a gradient, but no module that has it was called since step(), so "
        'it may have been read before its update: pass wait="step", or call finish() before the '
        "forward pass"
    )
