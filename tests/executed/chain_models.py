"""Models of programs that save and load them: the beginning of each program of `test_torchscript_chains`."""

# ruff: noqa: F401, N812 -- as programs write it; some program uses each import
# mypy: ignore-errors
import copy
import os
from pathlib import Path

import numpy as np
import torch
from torch import jit, nn
from torch.nn import functional as F


class Mlp(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, 8), nn.ELU(), nn.Linear(8, 2))

    def forward(self, x):
        return self.body(x)


class Image(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 2)

    def forward(self, image):
        return self.head(F.relu(self.norm(self.conv(image))).mean((2, 3)))


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 3, 3, padding=1)

    def forward(self, image, mask):
        filled = self.conv(torch.cat([image * (1 - mask), mask], 1))
        return mask * filled + (1 - mask) * image


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.out = nn.Linear(6, 3)

    def forward(self, tokens):
        return self.out(self.embedding(tokens).mean(1)).log_softmax(-1)


class Wave(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv1d(1, 1, 3, padding=2**i, dilation=2**i) for i in range(3))

    def forward(self, audio):
        for layer in self.layers:
            audio = audio + torch.tanh(layer(audio))
        return audio


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(5, 8)
        self.policy, self.value = nn.Linear(8, 3), nn.Linear(8, 1)

    def forward(self, planes):
        hidden = self.trunk(planes).relu()
        return self.policy(hidden), self.value(hidden).tanh()


class Normalized(nn.Module):
    def __init__(self, policy, mean, std):
        super().__init__()
        self.policy = copy.deepcopy(policy)
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)

    def forward(self, observations):
        return self.policy((observations - self.mean) / self.std).clamp(-1.0, 1.0)


class Memory(nn.Module):
    def __init__(self, rnn, actor):
        super().__init__()
        self.actor, self.rnn = copy.deepcopy(actor), copy.deepcopy(rnn)
        self.register_buffer("hidden", torch.zeros(self.rnn.num_layers, 1, self.rnn.hidden_size))
        self.register_buffer("cell", torch.zeros(self.rnn.num_layers, 1, self.rnn.hidden_size))

    def forward(self, x):
        out, (h, c) = self.rnn(x.unsqueeze(0), (self.hidden, self.cell))
        self.hidden[:] = h
        self.cell[:] = c
        return self.actor(out.squeeze(0))


class ActorCritic(nn.Module):
    def __init__(self, observations, actions, sizes=(8, 6)):
        super().__init__()
        layers = []
        for size in sizes:
            layers += [nn.Linear(observations, size), nn.ELU()]
            observations = size
        layers.append(nn.Linear(observations, actions))
        self.actor = nn.Sequential(*layers)
        self.critic = nn.Linear(observations, 1)

    def forward(self, x):
        return self.actor(x)
