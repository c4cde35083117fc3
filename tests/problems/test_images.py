"""Readers of MNIST and CIFAR-10, on small files in the official formats."""

import gzip
import os
import struct
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from creases import problems
from creases.errors import FileError, InputError
from creases.problems import cifar10, mnist
from creases.problems.images import channel_statistics, normalise, to_color_32

READERS = import_module("creases.problems.images._readers")

real = [
    pytest.mark.data,
    pytest.mark.skipif("CREASES_DATA" not in os.environ, reason="CREASES_DATA names no folder with the image data"),
]


def idx(array):
    return struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@pytest.fixture
def digits():
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (12, 28, 28), np.uint8), np.arange(12, dtype=np.uint8) % 10


@pytest.fixture
def mnist_folder(tmp_path, digits):
    images, labels = digits
    for split, n in (("train", 12), ("t10k", 5)):
        (tmp_path / f"{split}-images-idx3-ubyte").write_bytes(idx(images[:n]))
        (tmp_path / f"{split}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels[:n])))
    return tmp_path


@pytest.fixture
def cifar_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(READERS, "RECORDS", 4)
    rng = np.random.default_rng(0)
    (tmp_path / "cifar-10-batches-bin").mkdir()
    for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
        records = rng.integers(0, 256, (4, 3073), np.uint8)
        records[:, 0] %= 10
        (tmp_path / "cifar-10-batches-bin" / f"{name}.bin").write_bytes(records.tobytes())
    return tmp_path


@pytest.fixture(autouse=True)
def no_folder_by_default(request, monkeypatch):
    if not request.node.get_closest_marker("data"):
        monkeypatch.delenv("CREASES_DATA", raising=False)


def test_mnist_is_read_from_plain_and_gzipped_files(mnist_folder, digits):
    train, test = mnist("train", folder=mnist_folder), mnist("test", folder=mnist_folder)
    assert (train.images.dtype, train.labels.dtype) == (np.uint8, np.int64)
    np.testing.assert_array_equal(train.images[:, 0], digits[0])
    np.testing.assert_array_equal(train.labels, digits[1])
    assert test.images.shape == (5, 1, 28, 28)
    assert repr(test) == "<Images mnist, test: 5 x 1 x 28 x 28, 10 classes>"


@pytest.mark.parametrize("place", ["mnist", "MNIST/raw"])
def test_the_environment_names_the_folder(mnist_folder, tmp_path, monkeypatch, place):
    (tmp_path / "root" / place).mkdir(parents=True)
    for file in list(mnist_folder.glob("*ubyte*")):
        file.rename(tmp_path / "root" / place / file.name)
    monkeypatch.setenv("CREASES_DATA", str(tmp_path / "root"))
    assert len(mnist().images) == 12


def test_the_dotted_spelling_of_mirrors_is_found(mnist_folder):
    for file in list(mnist_folder.glob("*ubyte*")):
        file.rename(file.with_name(file.name.replace("-idx", ".idx")))
    assert len(mnist(folder=mnist_folder).images) == 12


def test_cifar_is_read_batch_by_batch_channels_first(cifar_folder):
    train, test = cifar10("train", folder=cifar_folder), cifar10("test", folder=cifar_folder)
    assert (train.images.shape, train.labels.shape) == ((20, 3, 32, 32), (20,))
    record = np.frombuffer((cifar_folder / "cifar-10-batches-bin" / "data_batch_2.bin").read_bytes(), np.uint8)
    assert train.labels[4] == record[0]
    assert train.images[4, 1, 2, 3] == record[1 + 1024 + 2 * 32 + 3]
    assert train.images[4, 2, 31, 31] == record[3072]
    assert test.images.shape == (4, 3, 32, 32)
    assert test.classes[0] == "airplane"


def test_the_registry_gives_flat_rows_of_shares(mnist_folder, digits):
    problem = problems.get("mnist", folder=mnist_folder, n=3)
    np.testing.assert_array_equal(problem.X, digits[0][:3].reshape(3, 784) / 255)
    assert problem.classes == tuple("0123456789")
    with pytest.raises(InputError, match="n must be at most the 12 train images of mnist, got 13"):
        problems.get("mnist", folder=mnist_folder, n=13)


@pytest.mark.parametrize("read", [mnist, cifar10])
def test_without_a_folder_the_error_says_how_to_name_one(read):
    with pytest.raises(FileError, match=r"not found; no folder was given: set the environment variable CREASES_DATA"):
        read()


def test_missing_files_are_named_with_where_was_looked(tmp_path):
    message = r"(?s)train-images-idx3-ubyte, train-labels-idx1-ubyte not found; looked in .*MNIST/raw.*t10k-labels-idx1"
    with pytest.raises(FileError, match=message):
        mnist(folder=tmp_path)
    with pytest.raises(
        FileError, match=r"test_batch.bin not found; looked in .*cifar-10-batches-bin.*\"binary version"
    ):
        cifar10("test", folder=tmp_path)


def test_a_folder_that_is_none_is_refused(tmp_path, monkeypatch):
    with pytest.raises(FileError, match=r"folder: expected a folder with data, got .*nowhere: there is no such folder"):
        mnist(folder=tmp_path / "nowhere")
    (tmp_path / "file").touch()
    monkeypatch.setenv("CREASES_DATA", str(tmp_path / "file"))
    with pytest.raises(FileError, match=r"CREASES_DATA: expected a folder with data, got .*: it is a file"):
        cifar10()


@pytest.mark.parametrize("read", [mnist, cifar10])
def test_an_unknown_split_is_refused(read):
    with pytest.raises(InputError, match="split must be 'train' or 'test', got 'valid'"):
        read("valid")


SPOILED = {
    "magic": (lambda data: b"\x00\x00\x08\x01" + data[4:], "begins with 00000803, found 00000801; download it again"),
    "html": (lambda data: b"<html>", "begins with 00000803, found 3c68746d"),
    "empty": (lambda data: b"", "begins with 00000803, found nothing"),
    "header": (lambda data: data[:9], r"cut off within its header \(9 of 16 bytes\)"),
    "cut": (lambda data: data[:-1], r"cut off: its header says 12 x 28 x 28 = 9408 bytes, it holds 9407; download it"),
    "long": (lambda data: data + b"0", "too long: its header says 12 x 28 x 28 = 9408 bytes, it holds 9409"),
    "gzip cut": (lambda data: gzip.compress(data)[:-50], "the gzip file is damaged or cut off"),
    "gzip bad": (lambda data: gzip.compress(data)[:100] + bytes(200), "the gzip file is damaged or cut off"),
    "count": (lambda data: idx(np.zeros((7, 28, 28), np.uint8)), r"has 7 images and .* 12 labels: they do not belong"),
    "size": (lambda data: idx(np.zeros((12, 8, 8), np.uint8)), "expected images of 28 x 28 pixels, found 12 x 8 x 8"),
}


@pytest.mark.parametrize("how", SPOILED)
def test_spoiled_idx_files_are_named(mnist_folder, how):
    spoil, message = SPOILED[how]
    path = mnist_folder / "train-images-idx3-ubyte"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(FileError, match=rf"(?s)train-images-idx3-ubyte.*{message}"):
        mnist(folder=mnist_folder)


def test_labels_out_of_range_are_named(mnist_folder):
    path = mnist_folder / "train-labels-idx1-ubyte.gz"
    path.write_bytes(idx(np.full(12, 10, np.uint8)))
    with pytest.raises(FileError, match=r"train-labels.*: expected labels from 0 to 9, found 10"):
        mnist(folder=mnist_folder)


def test_spoiled_cifar_files_are_named(cifar_folder):
    path = cifar_folder / "cifar-10-batches-bin" / "data_batch_3.bin"
    whole = path.read_bytes()
    path.write_bytes(whole[:-3073])  # cut at the end of a record
    with pytest.raises(
        FileError, match=r"data_batch_3.bin: cut off: expected 4 records .* = 12292 bytes, it holds 9219"
    ):
        cifar10(folder=cifar_folder)
    path.write_bytes(whole + b"0")
    with pytest.raises(FileError, match=r"data_batch_3.bin: too long"):
        cifar10(folder=cifar_folder)
    path.write_bytes(whole[: 2 * 3073] + b"\x0b" + whole[2 * 3073 + 1 :])
    with pytest.raises(FileError, match=r"data_batch_3.bin: expected labels from 0 to 9, found 11 in record 2"):
        cifar10(folder=cifar_folder)


@pytest.mark.parametrize("place", ["", "cifar-10-batches-py"])
def test_the_pickled_version_is_refused_and_not_opened(tmp_path, place):
    (tmp_path / place).mkdir(exist_ok=True)
    for i in range(1, 6):  # pickles that would fail the test if they were opened
        (tmp_path / place / f"data_batch_{i}").write_bytes(b"cbuiltins\nexit\n(tR.")
    with pytest.raises(FileError, match=r'data_batch_1 is the Python version, .*not open it. Get the "binary version"'):
        cifar10(folder=tmp_path)
    (tmp_path / place / "data_batch_1").rename(tmp_path / place / "cifar-10-binary.tar.gz")
    with pytest.raises(FileError, match=r"cifar-10-binary.tar.gz is still packed. .*unpack it"):
        cifar10(folder=tmp_path)


def openml(labels, pixels):
    data = np.arange(len(labels))[:, None] % 256 * np.ones(pixels)
    return lambda *args, **options: SimpleNamespace(data=data, target=labels.astype(str).astype(object))


def test_fetched_images_are_split_as_the_official_ones(monkeypatch):
    monkeypatch.setattr(READERS, "TEST", 10)
    monkeypatch.setattr(READERS, "CIFAR10", replace(READERS.CIFAR10, test_counts=(1,) * 10))
    labels = np.concatenate([np.zeros(20, int), np.arange(10)])
    monkeypatch.setattr("sklearn.datasets.fetch_openml", openml(labels, 3072))
    train, test = cifar10(fetch=True), cifar10("test", fetch=True)
    assert (train.images.shape, train.images.dtype) == ((20, 3, 32, 32), np.uint8)
    assert test.labels.tolist() == list(range(10))
    assert test.images[:, 0, 0, 0].tolist() == list(range(20, 30))


def test_a_fetched_table_in_another_order_is_refused(monkeypatch):
    monkeypatch.setattr("sklearn.datasets.fetch_openml", openml(np.zeros(70_000, int), 1))
    with pytest.raises(FileError, match="OpenML's mnist_784 is not laid out as expected"):
        mnist(fetch=True)


def test_being_offline_is_said(monkeypatch):
    def fail(*args, **options):
        raise OSError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fail)
    with pytest.raises(FileError, match=r"could not be downloaded from OpenML \(no route to host\); check the conn"):
        mnist(fetch=True)


def test_files_that_are_there_are_not_fetched(mnist_folder, monkeypatch):
    monkeypatch.setattr("sklearn.datasets.fetch_openml", None)
    assert len(mnist(folder=mnist_folder, fetch=True).images) == 12


def test_resizing_agrees_with_torch():
    images = np.random.default_rng(0).integers(0, 256, (7, 1, 28, 28), np.uint8)
    expected = torch.nn.functional.interpolate(torch.from_numpy(images).double(), size=32, mode="bilinear").numpy()
    result = to_color_32(images)
    assert (result.shape, result.dtype) == ((7, 3, 32, 32), np.uint8)
    assert np.abs(result[:, :1] - expected).max() <= 0.5 + 1e-9
    assert (result == result[:, :1]).all()


def test_normalised_channels_have_mean_zero_and_spread_one():
    images = np.random.default_rng(0).integers(0, 256, (50, 3, 8, 8), np.uint8)
    images //= np.array([1, 2, 4], np.uint8)[:, None, None]
    mean, spread = channel_statistics(images)
    np.testing.assert_allclose(mean, (images / 255).mean(axis=(0, 2, 3)))
    np.testing.assert_allclose(spread, (images / 255).std(axis=(0, 2, 3)))
    result = normalise(images)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result.mean(axis=(0, 2, 3), dtype=np.float64), 0, atol=1e-6)
    np.testing.assert_allclose(result.std(axis=(0, 2, 3), dtype=np.float64), 1, atol=1e-6)


def test_a_test_split_is_normalised_by_the_statistics_given():
    images = np.full((2, 1, 4, 4), 255, np.uint8)
    assert (normalise(images, (np.array([0.5]), np.array([0.25]))) == 2).all()
    assert (normalise(images) == 0).all()  # one value only: spread 0


def test_what_is_no_image_is_refused():
    with pytest.raises(InputError, match=r"images must be bytes \(n, channels, height, width\), got float64 \(3, 1, 2"):
        normalise(np.zeros((3, 1, 2, 2)))
    with pytest.raises(InputError, match=r"images must have one channel, \(n, 1, h, w\), got \(1, 3, 32, 32\)"):
        to_color_32(np.zeros((1, 3, 32, 32), np.uint8))


@pytest.mark.parametrize(
    ("read", "shape", "mean"),
    [
        pytest.param(mnist, (1, 28, 28), [0.1307], marks=real),
        pytest.param(cifar10, (3, 32, 32), [0.4914, 0.4822, 0.4465], marks=real),
    ],
)
def test_the_real_data_have_their_sizes_counts_and_known_means(read, shape, mean):
    train, test = read("train"), read("test")
    assert train.images.shape == ({mnist: 60_000, cifar10: 50_000}[read], *shape)
    assert test.images.shape == (10_000, *shape)
    assert np.bincount(test.labels).tolist() == list({mnist: READERS.MNIST, cifar10: READERS.CIFAR10}[read].test_counts)
    np.testing.assert_allclose(channel_statistics(train.images)[0], mean, atol=5e-4)
