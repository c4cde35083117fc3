import numpy as np
import pytest

from creases.cli import _arguments as arguments
from creases.errors import FileError, InputError


def test_numbers_boxes_and_shapes_are_parsed():
    np.testing.assert_array_equal(arguments.parse_numbers("-1, 2e-3,4", "x"), [-1, 0.002, 4])
    assert arguments.parse_box("-1,1,-2,2") == [(-1, 1), (-2, 2)]
    assert arguments.parse_box("-1,1") == [(-1, 1)]
    assert arguments.parse_shape("3,32,32") == (3, 32, 32)
    assert arguments.parse_shape(None) is None


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (
            lambda text: arguments.parse_box(text, 2),
            "-1,1",
            "box must be 4 numbers, lo,hi for each input, got 2 numbers",
        ),
        (arguments.parse_box, "0,1,2", "box must be pairs lo,hi, one for each input, got 3 numbers"),
        (arguments.parse_box, "a,b,c,d", "box must be comma-separated numbers, got 'a,b,c,d'"),
        (arguments.parse_shape, "3,0", "input_shape must be positive integers"),
        (arguments.parse_shape, "3.5", "input_shape must be positive integers"),
        (arguments.read_input, "one,two", "input must be comma-separated numbers"),
    ],
)
def test_what_is_no_number_is_refused(parse, text, message):
    with pytest.raises(InputError, match=message):
        parse(text)


def test_an_input_is_numbers_or_a_file(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6.0).reshape(1, 2, 3))
    assert arguments.read_input(str(tmp_path / "x.npy")).shape == (1, 2, 3)
    np.testing.assert_array_equal(arguments.read_input("-0.5,2"), [-0.5, 2])
    with pytest.raises(InputError, match=r"input must be an existing file, got .*y\.npy"):
        arguments.read_input(str(tmp_path / "y.npy"))
    (tmp_path / "z.npy").write_bytes(b"nothing")
    with pytest.raises(FileError, match=r"cannot read .*z\.npy as an \.npy file of numbers"):
        arguments.read_input(str(tmp_path / "z.npy"))


@pytest.mark.parametrize("text", ["0,1,1\n2,3,0\n", "a,b,class\n0,1,1\n2,3,0\n"])
def test_csv_data_has_points_and_classes_with_or_without_a_head(tmp_path, text):
    (tmp_path / "d.csv").write_text(text)
    points, classes = arguments.read_data(tmp_path / "d.csv", 2)
    np.testing.assert_array_equal(points, [[0, 1], [2, 3]])
    np.testing.assert_array_equal(classes, [1, 0])


def test_classes_may_be_missing(tmp_path):
    (tmp_path / "d.csv").write_text("0,1\n2,3\n")
    assert arguments.read_data(tmp_path / "d.csv", 2).classes is None
    np.savez(tmp_path / "d.npz", X=np.zeros((4, 2)))
    assert arguments.read_data(tmp_path / "d.npz", 2).classes is None


def test_npz_data_is_flattened_to_points(tmp_path):
    np.savez(tmp_path / "d.npz", X=np.zeros((4, 1, 2)), y=np.arange(4))
    points, classes = arguments.read_data(tmp_path / "d.npz", 2)
    assert points.shape == (4, 2)
    np.testing.assert_array_equal(classes, np.arange(4))


def test_data_that_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "d.npz"
    with pytest.raises(InputError, match=r"data must be an existing file, got .*d\.npz"):
        arguments.read_data(path, 2)
    np.savez(path, X=np.zeros((4, 3)))
    with pytest.raises(InputError, match=r"data must hold points X \(n, 2\) .* got X \(4, 3\)"):
        arguments.read_data(path, 2)
    np.savez(path, X=np.zeros((4, 2)), y=np.zeros(3))
    with pytest.raises(InputError, match=r"got X \(4, 2\), y \(3,\)"):
        arguments.read_data(path, 2)
    np.savez(path, X=0.0)
    with pytest.raises(InputError, match=r"got X \(\) in"):
        arguments.read_data(path, 2)
    np.savez(path, X=np.zeros((1, 2)), y=0)
    with pytest.raises(InputError, match=r"got X \(1, 2\), y \(\) in"):
        arguments.read_data(path, 2)
    np.savez(path, Z=np.zeros(3))
    with pytest.raises(FileError, match="it has no array X of points"):
        arguments.read_data(path, 2)
    (tmp_path / "d.csv").write_text("0,1\nx,y\n")
    with pytest.raises(FileError, match=r"cannot read .*d\.csv as a table of numbers"):
        arguments.read_data(tmp_path / "d.csv", 2)
    (tmp_path / "d.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match=r"cannot read .*d\.csv as a table of numbers"):
        arguments.read_data(tmp_path / "d.csv", 2)
    (tmp_path / "d.txt").touch()
    with pytest.raises(InputError, match=r"data must be an \.npz or \.csv file, got 'd\.txt'"):
        arguments.read_data(tmp_path / "d.txt", 2)
