"""Records forward and backward passes of layers, and optimizers' steps, by torch's hooks."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.modules import module as torch_module
from torch.optim import optimizer as torch_optimizer

from weft.train.tracing.recorder import COMPUTE, WORKER, Recorder

_MOST_NODES = 64  # of a layer's part of the graph


class ModuleHooks:
    """Hooks on all modules and optimizers of the process, until `remove`.

    A layer is a module without children. Its backward pass is that of the autograd nodes that it
    added. Hooks on nodes change no gradient and no graph.

    Args:
        recorder: where spans go.
        entered: called with the module with which a forward pass of a whole model begins.
        backward: called when a backward pass begins, in the backward pass.
    """

    def __init__(
        self, recorder: Recorder, entered: Callable[[Any], None], backward: Callable[[], None]
    ) -> None:
        """Adds the hooks."""
        self._recorder, self._entered, self._backward = recorder, entered, backward
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._stack: list[tuple[int, set[Any]]] = []
        self._updates: dict[int, int] = {}
        self._backward_begin: int | None = None
        self._handles = [
            torch_module.register_module_forward_pre_hook(self._before),
            torch_module.register_module_forward_hook(self._after, always_call=True),
            torch_optimizer.register_optimizer_step_pre_hook(self._before_update),
            torch_optimizer.register_optimizer_step_post_hook(self._after_update),
        ]

    def remove(self) -> None:
        """Removes them. Nodes that are still there record nothing more."""
        for handle in self._handles:
            handle.remove()
        self._recorder = None  # type: ignore[assignment]

    def end_backward(self) -> None:
        """Says that all nodes of the backward pass have run."""
        if self._recorder and self._backward_begin is not None:
            self._span("backward", self._backward_begin)
        self._backward_begin = None

    def _span(self, name: str, begin: int) -> None:
        own = threading.get_ident() == self._recorder.thread
        self._recorder.span(COMPUTE if own else WORKER, name, begin, time.perf_counter_ns())

    def _before(self, module: Any, inputs: Any) -> None:
        if not self._stack:
            self._name(module)
            self._entered(module)
        nodes = {one.grad_fn for one in inputs if isinstance(one, torch.Tensor)}
        self._stack.append((time.perf_counter_ns(), nodes))

    def _after(self, module: Any, inputs: Any, output: Any) -> None:
        if not self._stack or not self._recorder:
            return
        begin, nodes = self._stack.pop()
        if not self._stack:
            self._recorder.steps += module.training
            self._span("forward", begin)
        elif next(module.children(), None) is None:
            name = self._names.get(module, type(module).__name__)
            # What hooks of the layer waited for or updated comes before its forward pass.
            self._span(f"forward {name}", max(begin, self._recorder.resumed))
            for one in output if isinstance(output, (tuple, list)) else [output]:
                if isinstance(one, torch.Tensor) and one.grad_fn is not None:
                    self._follow(one.grad_fn, nodes, name)

    def _name(self, root: Any) -> None:
        wrapped = isinstance(root, torch.nn.parallel.DistributedDataParallel)
        inner = root.module if wrapped else root
        if inner not in self._names:
            for name, module in inner.named_modules():
                self._names[module] = name or type(module).__name__

    def _follow(self, last: Any, before: set[Any], name: str) -> None:
        """Hooks on the nodes from a layer's output back to its inputs."""
        found = {last}
        waiting = [] if last in before else [last]  # the layer may have done nothing
        while waiting and len(found) < _MOST_NODES:
            node = waiting.pop()
            self._watch(node, name)
            for following, _ in node.next_functions:
                if following is None or following in before or following in found:
                    continue
                if type(following).__name__ != "AccumulateGrad":
                    found.add(following)
                    waiting.append(following)

    def _watch(self, node: Any, name: str) -> None:
        begun: list[int] = []

        def before(_: Any) -> None:
            if self._recorder is None:
                return
            now = time.perf_counter_ns()
            if self._backward_begin is None:
                self._backward_begin = now
                self._backward()
            begun.append(now)

        def after(_: Any, __: Any) -> None:
            if self._recorder is not None and begun:
                self._span(f"backward {name}", begun.pop())

        node.register_prehook(before)
        node.register_hook(after)

    def _before_update(self, optimizer: Any, *_: Any) -> None:
        self._updates[id(optimizer)] = time.perf_counter_ns()

    def _after_update(self, optimizer: Any, *_: Any) -> None:
        begin = self._updates.pop(id(optimizer), None)
        if begin is not None and self._recorder is not None:
            self._span("update", begin)
