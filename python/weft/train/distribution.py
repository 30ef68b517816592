"""Data and model parallelism together: which ranks exchange gradients, and which activations."""

from __future__ import annotations

from typing import Any

from weft import arguments
from weft.errors import InvalidArgument, Mismatch
from weft.train.group import CommunicatorGroup, Group, exchange, group_of, raise_first

_WHO = "Distribution"


class Distribution:
    """The ranks as `data` rows of `model` neighbours. Collective over all ranks.

        rank 0  rank 1      model group of data part 0
        rank 2  rank 3      model group of data part 1
        data group of model part 0: ranks 0 and 2; of model part 1: ranks 1 and 3

    A *model group* works on one part of the batch with a model that is split over its ranks. They
    exchange activations and the gradients of activations. A *data group* has the same part of the
    model and different parts of the batch. Its ranks exchange the gradients of parameters.

    The layout is that of `Environment::CreateDistribution(data, model)` in Intel's Machine Learning
    Scaling Library (github.com/intel/MLSL, src/mlsl_impl.hpp): the model index is rank % model, the
    data index rank // model. MLSL repeats a smaller grid if the ranks are a multiple of it; here
    the grid has all ranks. torch's `init_device_mesh("cpu", (data, model))` has this layout, too.

    Both groups are new, also if one of them has one rank or all ranks: their collectives need no
    order among those of other groups. The groups live until their user closes them
    (`Communicator.close`, `torch.distributed.destroy_process_group`).

    Args:
        data: the number of parts of the batch, at least 1.
        model: the number of parts of the model, at least 1; data * model is the number of ranks.
        group: a `weft.Communicator`, whose parts are then communicators. None: torch's default
            process group, whose parts are then process groups with its backend.

    Raises:
        InvalidArgument: data or model is not a whole number, or data * model is not the number of
            ranks, on every rank; `group` is neither of the two, on this rank.
        Mismatch: ranks give different numbers, on every rank. The group stays usable.

    Thread safe: it does not change after it was made.
    """

    data_size: int
    """The ranks of this rank's data group: `data`."""
    model_size: int
    """The ranks of this rank's model group: `model`."""
    data_index: int
    """This rank in its data group, and the number of its part of the batch."""
    model_index: int
    """This rank in its model group, and the number of its part of the model."""
    data_group: Any
    """Ranks with this rank's part of the model."""
    model_group: Any
    """Ranks with this rank's part of the batch."""

    def __init__(self, data: int, model: int, group: Any = None) -> None:
        ranks = group_of(group, _WHO)
        if not isinstance(ranks, CommunicatorGroup) and group is not None:
            _refuse_part_of_world(ranks)
        self.data_size, self.model_size = _agreed(data, model, ranks)
        self.data_index, self.model_index = divmod(ranks.rank, self.model_size)
        if isinstance(ranks, CommunicatorGroup):
            self.model_group = ranks.comm.split(self.data_index, self.model_index)
            self.data_group = ranks.comm.split(self.model_index, self.data_index)
        else:
            self._make_process_groups()

    def _make_process_groups(self) -> None:
        """Makes all groups on all ranks in one order, as `torch.distributed` demands it."""
        import torch.distributed as dist

        for row in range(self.data_size):
            first = row * self.model_size
            made = dist.new_group(list(range(first, first + self.model_size)))
            if row == self.data_index:
                self.model_group = made
        for column in range(self.model_size):
            size = self.data_size * self.model_size
            made = dist.new_group(list(range(column, size, self.model_size)))
            if column == self.model_index:
                self.data_group = made

    def __repr__(self) -> str:
        return (
            f"<weft.train.Distribution {self.data_size}x{self.model_size}: data "
            f"{self.data_index}, model {self.model_index}>"
        )


def _refuse_part_of_world(ranks: Any) -> None:
    import torch.distributed as dist

    if ranks.group is not dist.group.WORLD:
        raise InvalidArgument(
            f"rank {dist.get_rank()}: {_WHO}: group is a part of the default process group: pass "
            "None for the whole of it, or a weft.Communicator"
        )


def _agreed(data: Any, model: Any, ranks: Group) -> tuple[int, int]:
    """The two numbers, if all ranks give the same right ones; else the same error on all ranks."""
    fault, mine = "", (0, 0)
    try:
        mine = arguments.whole(data, "data", 1), arguments.whole(model, "model", 1)
        if mine[0] * mine[1] != ranks.size:
            fault = (
                f"data {mine[0]} * model {mine[1]} is {mine[0] * mine[1]}, and there are "
                f"{ranks.size} ranks: give two numbers whose product is {ranks.size}"
            )
    except InvalidArgument as error:
        fault = str(error)
    every = exchange(ranks, [fault, *mine])
    raise_first([one[0] for one in every], _WHO)
    for rank, (_, *theirs) in enumerate(every):
        if theirs != every[0][1:]:
            raise Mismatch(
                f"{_WHO}: rank {rank} has data and model {theirs}, rank 0 {every[0][1:]}: "
                "give the same numbers on all ranks"
            )
    return mine
