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
