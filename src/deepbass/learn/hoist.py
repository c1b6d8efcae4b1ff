"""Compute once what dropout passes over a batch have in common: all that a model does before its first dropout.

It works for any nn.Module, at the level of torch's functions. The first pass over a batch runs in full and notes what
each call before the first dropout returned. In the passes after it those calls return what was noted; the model's
Python code simply runs again on it. From the first dropout on everything is executed.

Nothing is taken on trust. Hoisting is tried out on a few samples before it is used (``agrees``), and whatever looks
different in use (other calls, a noted tensor written to, random numbers drawn too early) ends it: the pass in question
is made again in full.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from deepbass.learn.dropout import dropout_input, overwrites, rate

Forward = Callable[[Tensor], Tensor]  # one pass over a batch; draws the same random numbers whenever it is called
_Call = tuple[Any, tuple[Any, ...]]  # a function and its arguments that are plain values

# what must take effect in every pass, whatever it returns
_SETTINGS = {torch._C._set_grad_enabled}
_PLAIN = (int, float, complex, str, np.generic, type(None))
_COMPARABLE = (int, float, complex, str, torch.dtype, torch.device, torch.layout, torch.memory_format)


class Hoist(TorchFunctionMode):
    """Makes dropout passes over one batch, and forgets what it noted of it when it goes."""

    def __init__(self, inputs: Tensor, *, on: bool = True) -> None:
        super().__init__()
        self.on = on  # until something tells against it
        self._inputs = inputs
        self._prefix: _Prefix | None = None
        self._take: Callable[[Any, Any, Any], Any] | None = None  # what is done with calls before the first dropout
        self._next = 0  # the number of the call that a replayed pass is to make next
        self._faithful = True  # it has made the calls that were noted so far

    def run(self, forward: Forward) -> Tensor:
        """Make one pass."""
        if self._prefix is not None:
            output = self._replay(forward, self._prefix)
            if output is not None:
                return output
            self.on, self._prefix = False, None
        return self._record(forward) if self.on else forward(self._inputs.clone())  # a first layer may work in place

    def same_prefix(self, other: Hoist) -> bool:
        """Tell whether the passes of another begin with the same calls and results."""
        return self._prefix is not None and other._prefix is not None and self._prefix.equals(other._prefix)

    def _record(self, forward: Forward) -> Tensor:
        self._prefix, self._take = _Prefix(self._inputs.clone()), self._note
        output = self._watched(forward, self._prefix)
        self.on = self._prefix.settle()
        if not self.on:
            self._prefix = None
        return output

    def _replay(self, forward: Forward, prefix: _Prefix) -> Tensor | None:
        """Make a pass from what was noted; None if it cannot be trusted."""
        self._next, self._faithful, self._take = 0, True, self._recall
        try:
            output = self._watched(forward, prefix)
        except Exception:  # if the fault is the model's own, the pass in full shows it
            return None
        return output if self._faithful and self._next == len(prefix.calls) and prefix.settle() else None

    def _watched(self, forward: Forward, prefix: _Prefix) -> Tensor:
        try:
            with self:
                output = forward(prefix.inputs)
        finally:
            self._take = None
        return output.clone()  # it may be a view of what is held and will be restored

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self._take is None or func in _SETTINGS or torch.compiler.is_compiling():
            return func(*args, **kwargs)
        return self._take(func, args, kwargs)

    def _note(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Execute a call and note what it returns, or close the notes if it is the first dropout."""
        assert self._prefix is not None
        if rate(func, args, kwargs) > 0.0:
            self._take = None
            self._prefix.close(func, args, kwargs)
            return func(*args, **kwargs)
        return self._prefix.note(func, args, kwargs)

    def _recall(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Return what was noted of a call; if it is another call than was noted, the pass is lost."""
        assert self._prefix is not None
        calls = self._prefix.calls
        self._faithful = self._next < len(calls) and calls[self._next] == _call(func, args, kwargs)
        self._next += 1
        if not self._faithful or self._next == len(calls):  # the last of them is the first dropout
            self._take = None
            return func(*args, **kwargs)
        return self._prefix.results[self._next - 1]


class _Prefix:
    """The calls of a pass up to its first dropout, and what they returned."""

    def __init__(self, inputs: Tensor) -> None:
        self.inputs = inputs
        self.calls: list[_Call] = []  # the last one is the first dropout
        self.results: list[Any] = []  # of all calls but the last
        self._made: dict[int, weakref.ref[Tensor]] = {}  # tensors that came from the calls, by identity
        self._foreign: list[Any] = []  # other tensors and arrays that the calls were given: weights, if all is well
        self._draws = False  # a call was given a random generator of the model's own
        self._random: Tensor | None = None  # the state of torch's generators before the first call
        self._closed = False
        self._versions: list[tuple[Tensor, int]] = []  # every tensor that is held, and how often it was written to
        self._restored: tuple[Tensor, Tensor] | None = None  # what the first dropout overwrites, and a copy of it

    def note(self, func: Any, args: Any, kwargs: Any) -> Any:
        if self._random is None:
            self._random = random_state(self.inputs.device)
        self._note_call(func, args, kwargs)
        result = func(*args, **kwargs)
        self._made.update((id(tensor), weakref.ref(tensor)) for tensor in _tensors(result))
        # held weakly: most activations are gone by the first dropout, and memory is not filled with them
        self.results.append(weakref.ref(result) if type(result) is Tensor else result)
        return result

    def close(self, func: Any, args: Any, kwargs: Any) -> None:
        """Hold what the model still holds: at the first dropout its tensors are as later passes need them."""
        self._note_call(func, args, kwargs)
        # Only calls that are answered from the notes can meet a tensor that is gone. Should anything else do,
        # one without data makes it fail.
        gone = torch.empty(0, device="meta")
        self.results = [_held(result, gone) for result in self.results]
        kept = [tensor for tensor in [self.inputs, *_tensors(self.results)] if tensor is not gone]
        if self._random is not None and not torch.equal(self._random, random_state(self.inputs.device)):
            self._draws = True
        if self._draws or any(tensor.is_inference() for tensor in kept):  # writing to those is not counted
            return
        written: Tensor | None = None
        if overwrites(func, args, kwargs):
            dropped = dropout_input(args, kwargs)
            written = dropped if dropped._base is None else dropped._base
            self._restored = (written, written.clone())
        # what is restored as a whole need not be watched
        watched = [
            tensor for tensor in kept if tensor is not written and (written is None or tensor._base is not written)
        ]
        self._versions = [(tensor, tensor._version) for tensor in watched]
        self._closed = True

    def settle(self) -> bool:
        """Make ready for the next pass; tell whether there can be one from these notes."""
        if self._restored is not None:
            tensor, copy = self._restored
            tensor.copy_(copy)
        return self._closed and all(tensor._version == version for tensor, version in self._versions)

    def equals(self, other: _Prefix) -> bool:
        """Tell whether another pass makes the same calls, gives them the same tensors and gets the same results.

        A tensor that is another object and came from none of the calls was made where it cannot be seen. That it has
        the same values may be chance.
        """
        return (
            self.calls == other.calls
            and len(self._foreign) == len(other._foreign)
            and all(one is another for one, another in zip(self._foreign, other._foreign, strict=True))
            and all(map(_equal, self.results, other.results))
        )

    def _note_call(self, func: Any, args: Any, kwargs: Any) -> None:
        self.calls.append(_call(func, args, kwargs))
        for value in _leaves((*args, *kwargs.values())):
            self._draws = self._draws or isinstance(value, torch.Generator)
            if isinstance(value, Tensor | np.ndarray) and value is not self.inputs:
                made = self._made.get(id(value))
                if made is None or made() is not value:  # a number may be given again to a later object
                    self._foreign.append(value)


def agrees(inputs: Tensor, forwards: Sequence[Forward]) -> bool:
    """Try hoisting out: replayed passes must begin with the same results as full ones and end with the same bits."""
    hoist = Hoist(inputs)
    hoist.run(forwards[0])
    for forward in forwards[1:]:
        full = Hoist(inputs)
        expected = full.run(forward)
        if not torch.equal(hoist.run(forward), expected) or not (hoist.on and full.on and hoist.same_prefix(full)):
            return False
    return True


def opaque(model: nn.Module) -> bool:
    """Tell whether a part of a model is compiled, so that its calls cannot be seen."""
    return any(
        isinstance(part, torch.jit.ScriptModule)
        or hasattr(part, "_orig_mod")  # torch.compile(part)
        or part._compiled_call_impl is not None  # part.compile()
        for part in model.modules()
    )


class Tally(TorchFunctionMode):
    """Counts the calls that return tensors: a measure of work that does not depend on the machine."""

    def __init__(self) -> None:
        super().__init__()
        self.before = 0  # the first dropout
        self.all = 0
        self._dropped = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        self._dropped = self._dropped or rate(func, args, kwargs) > 0.0
        result = func(*args, **kwargs)
        counts = any(True for _ in _tensors(result))
        self.all += counts
        self.before += counts and not self._dropped
        return result


def random_state(device: torch.device) -> Tensor:
    """Look at the generators that random functions take by default."""
    state = torch.get_rng_state()
    return state if device.type == "cpu" else torch.cat([state, getattr(torch, device.type).get_rng_state()])


def _call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
    return func, tuple(value for value in _leaves((*args, *kwargs.values())) if isinstance(value, _PLAIN))


def _held(result: Any, gone: Tensor) -> Any:
    if isinstance(result, weakref.ref):
        tensor = result()
        return gone if tensor is None else tensor
    return result


def _tensors(value: Any) -> Iterator[Tensor]:
    return (leaf for leaf in _leaves(value) if isinstance(leaf, Tensor))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        for part in value:
            yield from _leaves(part)
    elif isinstance(value, slice):
        yield from (value.start, value.stop, value.step)
    else:
        yield value


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        if one.is_meta or other.is_meta:  # gone in one of two passes; only what is held matters
            return True
        try:
            return one.dtype == other.dtype and torch.equal(one, other)
        except RuntimeError:  # not every kind of tensor can be compared
            return False
    if isinstance(one, tuple | list):
        return type(one) is type(other) and len(one) == len(other) and all(map(_equal, one, other))
    return one is other or (isinstance(one, _COMPARABLE) and bool(one == other))
