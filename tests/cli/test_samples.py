import numpy as np
import pytest

from creases.cli._samples import read_points
from creases.errors import CreasesError, FileError, InputError


@pytest.mark.parametrize("head", ["", "a,b,class\n"])
def test_csv_data_has_points_and_classes_with_or_without_a_head(tmp_path, head):
    (tmp_path / "d.csv").write_text(head + "0,1.5,1\n2,3.5,0\n" * 8)
    points, classes = read_points(tmp_path / "d.csv", None, 2, 2)
    np.testing.assert_array_equal(points, [[0, 1.5], [2, 3.5]] * 8)
    np.testing.assert_array_equal(classes, [1, 0] * 8)


def test_classes_may_be_missing(tmp_path):
    (tmp_path / "d.csv").write_text("0,1\n2,3\n")
    assert read_points(tmp_path / "d.csv", None, 2, 2).y is None
    np.savez(tmp_path / "d.npz", X=np.zeros((4, 2)))
    assert read_points(tmp_path / "d.npz", None, 2, 2).y is None


def test_npz_data_is_flattened_to_points(tmp_path):
    np.savez(tmp_path / "d.npz", X=np.zeros((4, 1, 2)), y=np.arange(4))
    points, classes = read_points(tmp_path / "d.npz", None, 2, 2)
    assert points.shape == (4, 2)
    np.testing.assert_array_equal(classes, np.arange(4))


def test_data_that_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "d.npz"
    with pytest.raises(InputError, match=r"data must be an existing file, got .*d\.npz"):
        read_points(path, None, 2, 2)
    np.savez(path, X=np.zeros((4, 3)))
    with pytest.raises(InputError, match=r"data must hold points X \(n, 2\) .* got X \(4, 3\)"):
        read_points(path, None, 2, 2)
    np.savez(path, X=np.zeros((4, 2)), y=np.zeros(3))
    with pytest.raises(InputError, match=r"got X \(4, 2\), y \(3,\)"):
        read_points(path, None, 2, 2)
    np.savez(path, X=0.0)
    with pytest.raises(InputError, match=r"got X \(\) in"):
        read_points(path, None, 2, 2)
    np.savez(path, X=np.zeros((1, 2)), y=0)
    with pytest.raises(InputError, match=r"got X \(1, 2\), y \(\) in"):
        read_points(path, None, 2, 2)
    np.savez(path, Z=np.zeros(3))
    with pytest.raises(FileError, match="it has no array X of points"):
        read_points(path, None, 2, 2)
    (tmp_path / "d.csv").write_text("a,b,c,d\n0,1,2,3\n4,5,6,7\n")
    with pytest.raises(InputError, match="data must have 2 input columns, as the network, got 3 beside 'd'"):
        read_points(tmp_path / "d.csv", None, 2, 2)
    (tmp_path / "d.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(CreasesError, match=r"d\.csv"):
        read_points(tmp_path / "d.csv", None, 2, 2)


def test_a_constant_column_and_classes_by_name_are_read(tmp_path):
    (tmp_path / "d.csv").write_text("a,b,kind\n" + "".join(f"{k / 3},1,{'no' if k % 2 else 'yes'}\n" for k in range(9)))
    points, classes = read_points(tmp_path / "d.csv", None, 2, 2)
    np.testing.assert_array_equal(points[:, 1], np.ones(9))
    np.testing.assert_array_equal(classes, [1, 0] * 4 + [1])
