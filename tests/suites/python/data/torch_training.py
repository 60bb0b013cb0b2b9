# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the CPU: samples, and a network that is trained; its gradients and the optimizer's moments stay."""
import torch

USES = ["torch"]


def samples(count):
    return torch.rand(count, 512)


def network():
    return torch.nn.Sequential(torch.nn.Linear(512, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 10))


def train(model, data):
    optimizer = torch.optim.Adam(model.parameters())
    for batch in data.split(2_000)[:3]:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    return optimizer


torch.set_num_threads(2)
data = samples(20_000)
model = network()
optimizer = train(model, data)
weights = sum(p.nbytes for p in model.parameters())
print({"samples": data.nbytes, "network": weights, "train": None})  # gradients, from torch's threads, and what those keep
