"""A network and its optimiser as tensors with names, and back: what a checkpoint holds of them."""

from __future__ import annotations

from collections.abc import Mapping

import safetensors.torch
import torch
from torch import Tensor, nn

from deepbass.core.errors import StoreError
from deepbass.core.foreign import decoding

MODEL = "model."  # what the names of weights begin with
_ADAM = "adam."


def pack(model: nn.Module, prefix: str = "") -> dict[str, Tensor]:
    """Name a network's weights."""
    return {f"{prefix}{MODEL}{name}": tensor for name, tensor in model.state_dict().items()}


def unpack(tensors: Mapping[str, Tensor], model: nn.Module, prefix: str = "") -> None:
    """Take up weights that were packed under a prefix; the model must be the one that was packed."""
    model.load_state_dict(_under(tensors, prefix + MODEL))


def pack_optimiser(optimiser: torch.optim.Optimizer, prefix: str = "") -> dict[str, Tensor]:
    """Name the tensors of an optimiser's state, of whatever kind it is."""
    return {
        f"{prefix}{_ADAM}{place}.{name}": tensor
        for place, weights in enumerate(weights_of(optimiser))
        for name, tensor in optimiser.state[weights].items()
        if isinstance(tensor, Tensor)
    }


def unpack_optimiser(tensors: Mapping[str, Tensor], optimiser: torch.optim.Optimizer, prefix: str = "") -> None:
    """Take up the tensors of an optimiser of the same kind."""
    weights = weights_of(optimiser)
    optimiser.state.clear()
    for name, tensor in _under(tensors, prefix + _ADAM).items():
        place, key = name.split(".", 1)
        owner = weights[int(place)]
        # in the memory layout of the weights, or rounding could differ from the unbroken run's
        fits = tensor.shape == owner.shape
        alike = torch.empty_like(owner) if fits else torch.empty(tensor.shape, device=owner.device)
        optimiser.state[owner][key] = tensor.clone() if tensor.ndim == 0 else alike.to(tensor.dtype).copy_(tensor)


def weights_of(optimiser: torch.optim.Optimizer) -> list[nn.Parameter]:
    """List the weights in the order in which the optimiser's state is packed."""
    return [weights for group in optimiser.param_groups for weights in group["params"]]


def as_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """Write tensors as safetensors."""
    return safetensors.torch.save({name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()})


def packed_weights(state: bytes, where: object) -> dict[str, Tensor]:
    """Take the model's weights out of a packed state; ``where`` it comes from is for errors."""
    with decoding(where, "state of a model", "Restore the folder from a copy.", StoreError):
        return _under(safetensors.torch.load(state), MODEL)


def _under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
