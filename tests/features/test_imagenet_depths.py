"""Features at several depths of the network for photographs, with the real weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from deepbass.features.imagenet import WIDTH, ImagenetFeatures, load_network
from deepbass.features.imagenet_depths import BLOCKS, ImagenetDepths
from deepbass.features.installed import network_weights
from deepbass.learn.models import END
from tests.features.found import pictures


@pytest.fixture(scope="module")
def depths() -> ImagenetDepths:
    return ImagenetDepths(64)


def test_the_end_is_what_the_features_of_the_end_alone_are(depths: ImagenetDepths) -> None:
    end = ImagenetFeatures(64)
    some = pictures(5)
    seen, seen_alone = depths.compute(some), end.compute(some)
    assert seen.shape == (5, depths.width)
    assert end.width == WIDTH == END  # where a head takes the end to end
    np.testing.assert_array_equal(seen[:, :WIDTH], seen_alone)
    np.testing.assert_allclose(depths.verdicts(seen), end.verdicts(seen_alone), atol=1e-6)
    assert depths.identity != end.identity


def test_the_rest_are_means_over_places_of_what_blocks_hand_on(depths: ImagenetDepths) -> None:
    path = network_weights()
    assert path is not None
    network = load_network(path)
    handed_on: dict[int, torch.Tensor] = {}
    for number in BLOCKS:
        network._blocks[number].register_forward_hook(  # type: ignore[index,union-attr]
            lambda block, given, out, number=number: handed_on.__setitem__(number, out.mean((2, 3)))
        )
    (picture,) = pictures(1, (64, 64))
    pixels = (np.asarray(picture, dtype=np.float32) / 255 - 0.5) / 0.5
    with torch.inference_mode():
        network.extract_features(torch.from_numpy(pixels).permute(2, 0, 1)[None])  # type: ignore[operator]
    rest, start = depths.compute([picture])[0, WIDTH:], 0
    for number, (channels, _) in BLOCKS.items():
        block, of_it = rest[start : start + channels], handed_on[number][0].numpy()
        assert np.corrcoef(block, of_it)[0, 1] > 0.9999  # the same, but for a factor
        start += channels
    assert start == len(rest)
