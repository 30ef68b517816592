"""TorchRec's sharded embeddings on Weft, on the CPU: init_process_group takes the backend's name.

pip install fbgemm-gpu-cpu==1.8.0 tensordict torchmetrics==1.0.3 pyre-extensions tqdm
pip install --no-deps torchrec==1.8.0  # its own list names fbgemm-gpu, which is for CUDA
torchrun --nproc-per-node 2 train.py
"""

import argparse

import torch
import torch.distributed as dist
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, KeyedJaggedTensor
from torchrec.distributed import DistributedModelParallel
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.sharding_plan import (
    construct_module_sharding_plan,
    row_wise,
    table_wise,
)
from torchrec.distributed.types import ShardingEnv, ShardingPlan
from torchrec.optim.apply_optimizer_in_backward import apply_optimizer_in_backward

FEATURES = ["user", "item", "shop"]
ROWS = 32  # of each table
RATE = 4.0


class Model(torch.nn.Module):
    """A table for each feature, and one linear layer over what the tables give."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = EmbeddingBagCollection(
            device=torch.device("meta"),  # each rank allocates its own shards only
            tables=[
                EmbeddingBagConfig(
                    name=name, feature_names=[name], num_embeddings=ROWS, embedding_dim=8
                )
                for name in FEATURES
            ],
        )
        self.top = torch.nn.Linear(8 * len(FEATURES), 1)

    def forward(self, ids: KeyedJaggedTensor) -> torch.Tensor:
        """The logit of each sample, (batch,)."""
        return self.top(self.tables(ids).values()).squeeze(1)


def sharded(model: Model) -> DistributedModelParallel:
    """Users on rank 0, shops on the last rank, the rows of items over all ranks."""
    size, sharder = dist.get_world_size(), EmbeddingBagCollectionSharder()
    apply_optimizer_in_backward(torch.optim.SGD, model.tables.parameters(), {"lr": RATE})
    plan = construct_module_sharding_plan(
        model.tables,
        {"user": table_wise(rank=0), "item": row_wise(), "shop": table_wise(rank=size - 1)},
        sharder=sharder,
        local_size=size,
        world_size=size,
        device_type="cpu",
    )
    return DistributedModelParallel(
        model,
        env=ShardingEnv.from_process_group(dist.group.WORLD),
        device=torch.device("cpu"),
        plan=ShardingPlan({"tables": plan}),
        sharders=[sharder],
    )


def minibatch(generator: torch.Generator, samples: int) -> tuple[KeyedJaggedTensor, torch.Tensor]:
    """An id a feature; a click if user or item is even, whatever the shop."""
    ids = torch.randint(ROWS, (len(FEATURES), samples), generator=generator)
    lengths = torch.ones(ids.numel(), dtype=torch.int64)
    clicks = ((ids[0] % 2 == 0) | (ids[1] % 2 == 0)).float()
    return KeyedJaggedTensor(keys=FEATURES, values=ids.flatten(), lengths=lengths), clicks


def main() -> None:
    """Trains for 60 steps; rank 0 prints the plan and every tenth loss, the mean of all ranks'."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="weft", help="weft or gloo")
    dist.init_process_group(parser.parse_args().backend)
    rank, size = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(rank)
    model = sharded(Model())  # the linear layer becomes rank 0's, by DDP
    optimizer = torch.optim.SGD(model.module.top.parameters(), lr=RATE)
    generator = torch.Generator().manual_seed(rank)
    losses = []
    for step in range(60):
        ids, clicks = minibatch(generator, samples=128)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(ids), clicks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            mean = loss.detach() / size
            dist.all_reduce(mean)
            losses.append(mean.item())

    if rank == 0:
        print(model.plan)
        print(f"{size} ranks through {dist.get_backend()}:")
        print(f"losses {losses}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
