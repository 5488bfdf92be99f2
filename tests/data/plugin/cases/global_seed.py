import torch
from torch import manual_seed as seed


def main(generator: torch.Generator) -> None:
    torch.manual_seed(1)  # expect: ZA101
    seed(2)  # expect: ZA101
    generator.manual_seed(3)
