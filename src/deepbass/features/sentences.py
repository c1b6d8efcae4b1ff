"""Features of texts: the language model all-MiniLM-L6-v2 (Apache License 2.0), which puts like meanings side by side.

Weights and tokenizer lie in an installed package, which is not imported: it is a folder of data. The encoder is BERT's
(Devlin et al., 2018), written out, with the mean over a text's tokens as sentence-transformers takes it.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from deepbass.core.errors import ConfigError
from deepbass.core.foreign import decoding
from deepbass.features.extractor import (
    Features,
    PreparingExtractor,
    State,
    check_same,
    digest_of_file,
    not_installed,
)
from deepbass.features.installed import LANGUAGE_MODEL, LANGUAGE_WEIGHTS, language_model

WIDTH, LAYERS, HEADS = 384, 6, 12
TOKENS = 256  # of a text that are read: what the model was made for
CHARACTERS = 20_000  # of a text that are looked at: more than so many tokens have
TOKENS_AT_ONCE = 1_024  # texts of like length are computed together, up to so many tokens


class SentenceFeatures(PreparingExtractor):
    """A text becomes a direction in 384 dimensions; texts that mean the same point the same way."""

    name = "sentences"
    kind: Literal["text"] = "text"
    width = WIDTH
    batch = 256

    def __init__(self) -> None:
        folder = language_model()
        if folder is None:
            raise not_installed(self.name, "texts")
        from tokenizers import Tokenizer

        weights = folder / LANGUAGE_WEIGHTS
        with decoding(folder, f"copy of {LANGUAGE_MODEL}", "Install its package again.", ConfigError):
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._tokenizer.enable_truncation(TOKENS)
            self._tokenizer.no_padding()
            self._encoder = BertEncoder(load_file(weights))
        self.identity = (
            f"{LANGUAGE_MODEL} {digest_of_file(weights)}, tokenizer {digest_of_file(folder / 'tokenizer.json')} "
            f"tokenizers {importlib.metadata.version('tokenizers')}, {TOKENS} tokens, mean, 1"
        )

    def describe(self) -> str:
        """Say what it sees of a text."""
        read = f"the first {TOKENS} tokens (some 200 words)"
        return f"sentences: {WIDTH} numbers a text from {LANGUAGE_MODEL}, which reads {read}"

    def prepare(self, sample: str) -> list[int]:
        """Split a text into tokens."""
        whole = sample[:CHARACTERS].encode("utf-8", "replace").decode()  # halves of characters are none
        return list(self._tokenizer.encode(whole).ids)

    def compute_prepared(self, prepared: Sequence[list[int]]) -> Features:
        """Compute texts of like length together, so that little is padded."""
        features = np.empty((len(prepared), WIDTH), dtype=np.float32)
        by_length = sorted(range(len(prepared)), key=lambda number: len(prepared[number]))
        start = 0
        while start < len(by_length):
            end = start + 1
            while end < len(by_length) and (end + 1 - start) * len(prepared[by_length[end]]) <= TOKENS_AT_ONCE:
                end += 1
            numbers = by_length[start:end]
            features[numbers] = self._encoder([prepared[number] for number in numbers])
            start = end
        return features

    def state(self) -> State:
        """The identity says it all: the weights are not ours to copy about."""
        return {"name": self.name, "identity": self.identity}

    @classmethod
    def from_state(cls, state: State) -> SentenceFeatures:
        """Make the extractor that a model was trained with."""
        extractor = cls()
        check_same(state, extractor)
        return extractor


class BertEncoder:
    """Token ids in, a direction for each text out; dropout off."""

    def __init__(self, weights: dict[str, torch.Tensor]) -> None:
        self._weights = weights
        for layer in range(LAYERS):  # one product instead of three
            name = f"encoder.layer.{layer}.attention.self"
            for part in ("weight", "bias"):
                joined = [weights.pop(f"{name}.{what}.{part}") for what in ("query", "key", "value")]
                weights[f"{name}.{part}"] = torch.cat(joined)
        self([[0]])  # all weights are there, and fit

    @torch.inference_mode()
    def __call__(self, texts: Sequence[Sequence[int]]) -> Features:
        longest = max(map(len, texts))
        ids_B_L = torch.tensor([[*text, *[0] * (longest - len(text))] for text in texts])
        mask_B_L = torch.tensor([[True] * len(text) + [False] * (longest - len(text)) for text in texts])
        x_B_L_D = self._embed(ids_B_L)
        for layer in range(LAYERS):
            x_B_L_D = self._layer(f"encoder.layer.{layer}", x_B_L_D, mask_B_L)
        weight_B_L_1 = mask_B_L[:, :, None].float()
        mean_B_D = (x_B_L_D * weight_B_L_1).sum(1) / weight_B_L_1.sum(1)
        return F.normalize(mean_B_D).numpy()

    def _embed(self, ids_B_L: torch.Tensor) -> torch.Tensor:
        table = {
            what: self._weights[f"embeddings.{what}_embeddings.weight"] for what in ("word", "position", "token_type")
        }
        x_B_L_D = table["word"][ids_B_L] + table["position"][: ids_B_L.shape[1]] + table["token_type"][0]
        return self._norm("embeddings", x_B_L_D)

    def _layer(self, name: str, x_B_L_D: torch.Tensor, mask_B_L: torch.Tensor) -> torch.Tensor:
        batch, length, width = x_B_L_D.shape
        joined = self._linear(f"{name}.attention.self", x_B_L_D).view(batch, length, 3, HEADS, width // HEADS)
        query, key, value = joined.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=mask_B_L[:, None, None, :])
        seen_B_L_D = seen.transpose(1, 2).reshape(batch, length, width)
        x_B_L_D = self._norm(
            f"{name}.attention.output", x_B_L_D + self._linear(f"{name}.attention.output.dense", seen_B_L_D)
        )
        hidden = F.gelu(self._linear(f"{name}.intermediate.dense", x_B_L_D))
        return self._norm(f"{name}.output", x_B_L_D + self._linear(f"{name}.output.dense", hidden))

    def _linear(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _norm(self, name: str, x: torch.Tensor) -> torch.Tensor:
        weight, bias = self._weights[f"{name}.LayerNorm.weight"], self._weights[f"{name}.LayerNorm.bias"]
        return F.layer_norm(x, (WIDTH,), weight, bias, eps=1e-12)
