"""Hugging Face Accelerate on Weft: the group that exists already is the one that Accelerate takes.

pip install accelerate
torchrun --nproc-per-node 2 train.py
"""

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    """Fits a line; all ranks end with the same parameters."""
    # On CPUs Accelerate itself starts nothing but Gloo and MPI.
    dist.init_process_group("weft")
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(0)

    x = torch.linspace(-1, 1, 256).view(-1, 1)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(x, 3 * x + 0.5), batch_size=16, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    for _ in range(20):
        for inputs, targets in loader:
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()

    line = accelerator.unwrap_model(model)
    found = accelerator.gather(torch.tensor([[line.weight.item(), line.bias.item()]]))
    accelerator.print(f"{accelerator.num_processes} ranks through {dist.get_backend()}:")
    accelerator.print(f"slope and offset on each rank {found.tolist()}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
