"""Models that end in softmax or a sigmoid: the scores before it are read, and they decide alike."""

import numpy as np
import pytest
import torch
from torch import nn

import creases
from creases import certify
from creases.certify.proofs import check_proof
from creases.certify.properties import parse_vnnlib, verify
from creases.errors import InputError, LinkWarning

LAYERS = {
    "softmax": nn.Softmax(1),
    "log_softmax": nn.LogSoftmax(1),
    "sigmoid": nn.Sigmoid(),
    "log_sigmoid": nn.LogSigmoid(),
}


def read_with_warning(model):
    with pytest.warns(LinkWarning, match="the scores before it are read; its decisions are the same"):
        return creases.read(model)


@pytest.mark.parametrize("link", LAYERS)
def test_the_scores_decide_as_the_model_does(link):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3), LAYERS[link])
    net = read_with_warning(model)
    x = torch.randn(50, 2)
    assert net.link == link
    assert f"scores before {link}" in repr(net)
    torch.testing.assert_close(net(x), model[:-1](x).double(), rtol=1e-5, atol=1e-6)
    assert torch.equal(net(x).argmax(1), model(x).argmax(1))


def test_a_single_probability_without_its_axis_is_read_as_its_score():
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 1)

        def forward(self, x):
            return torch.sigmoid(self.fc(x)).squeeze(-1)

    model = Model()
    net = read_with_warning(model)
    x = torch.randn(20, 2)
    assert np.array_equal(net(x).numpy().ravel() > 0, model(x).detach().numpy() > 0.5)


def test_the_link_is_kept_in_files_and_in_other_precisions(tmp_path):
    net = read_with_warning(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2), nn.Softmax(1)))
    assert creases.read(net.save(tmp_path / "net.safetensors")).link == "softmax"
    assert net.to(torch.float32).link == "softmax"
    assert creases.read(nn.Linear(2, 1)).link == ""


PROPERTY = """
(declare-const X_0 Real) (declare-const Y_0 Real) (declare-const Y_1 Real)
(assert (>= X_0 0)) (assert (<= X_0 1)) (assert (>= Y_0 1.5))
"""


def test_a_property_of_probabilities_is_not_decided_about_scores():
    net = read_with_warning(nn.Sequential(nn.Linear(1, 2), nn.Softmax(1)))
    with pytest.raises(InputError, match="scores before softmax; pass the model without its last layer"):
        verify(net, parse_vnnlib(PROPERTY))


def test_a_checked_proof_says_that_it_is_about_scores():
    net = read_with_warning(nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 2), nn.Softmax(1)))
    proof = certify.output_range(net, (0, 1)).proof
    assert str(check_proof(proof, net)).startswith("verified: of the scores before softmax: ")
