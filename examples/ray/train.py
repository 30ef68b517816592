"""Ray Train's TorchTrainer on Weft: TorchConfig takes the backend's name.

pip install "ray[train]"
python train.py
"""

import ray
import torch
import torch.distributed as dist
from ray.train import ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_data_loader, prepare_model
from torch.utils.data import DataLoader, TensorDataset


def train() -> None:
    """Fits a line, on each worker; all end with the same parameters."""
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 256).view(-1, 1)
    model = prepare_model(torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(x, 3 * x + 0.5), batch_size=16, shuffle=True)
    loader = prepare_data_loader(loader)

    for _ in range(20):
        for inputs, targets in loader:
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, [p.item() for p in model.parameters()])
    if dist.get_rank() == 0:
        print(f"{len(found)} ranks through {dist.get_backend()}:", flush=True)
        print(f"slope and offset on each rank {found}", flush=True)


def main() -> None:
    """Two workers of this machine, one core each."""
    ray.init(num_cpus=3, include_dashboard=False)
    trainer = TorchTrainer(
        train,
        torch_config=TorchConfig(backend="weft"),
        scaling_config=ScalingConfig(num_workers=2),
    )
    trainer.fit()
    ray.shutdown()


if __name__ == "__main__":
    main()
