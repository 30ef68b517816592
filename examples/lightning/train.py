"""Lightning Fabric on Weft: its DDP strategy takes the backend's name.

pip install lightning
torchrun --nproc-per-node 2 train.py
"""

import torch
import torch.distributed as dist
from lightning.fabric import Fabric
from lightning.fabric.strategies import DDPStrategy
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    """Fits a line; all ranks end with the same parameters."""
    fabric = Fabric(
        accelerator="cpu", devices=2, strategy=DDPStrategy(process_group_backend="weft")
    )
    fabric.launch()
    fabric.seed_everything(0)

    x = torch.linspace(-1, 1, 256).view(-1, 1)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = fabric.setup(model, optimizer)
    loader = DataLoader(TensorDataset(x, 3 * x + 0.5), batch_size=16, shuffle=True)
    loader = fabric.setup_dataloaders(loader)

    for _ in range(20):
        for inputs, targets in loader:
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            fabric.backward(loss)
            optimizer.step()

    found = fabric.all_gather(torch.cat([p.detach().view(-1) for p in model.parameters()]))
    fabric.print(f"{fabric.world_size} ranks through {dist.get_backend()}:")
    fabric.print(f"slope and offset on each rank {found.tolist()}")


if __name__ == "__main__":
    main()
