"""The sections about a network: certificate, regions, units, pieces, sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from creases.network import Network
from creases.regions import LinePartition, PlanePartition
from creases.show.report._certificate import certificate_section
from creases.show.report._formatting import Section
from creases.show.report._pieces import compression_sections, dual_sections
from creases.show.report._region_census import census_sections
from creases.show.report._sensitivity import sensitivity_sections
from creases.show.report._spline import spline_sections
from creases.show.report._subject import Subject
from creases.show.report._units import units_section


def network_sections(
    net: Network,
    *,
    box: Any,
    X: Any = None,
    y: Any = None,
    features: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    partition: PlanePartition | LinePartition | None = None,
) -> list[Section]:
    """Return the sections (title, text, table, picture) about a network, as JSON for the viewer.

    At most 2,000 samples are used, which the texts mention.

    Parameters
    ----------
    net
        The network.
    box
        Box of inputs to analyze, (lo, hi) or a pair for each input.
    X, y
        Samples (n, n_in) and their class numbers or targets (n,).
    features, classes
        Names of the inputs and of the classes; None for regression.
    partition
        The partition shown; computed by default for one or two inputs. A slice gets its own certificate and
        statistics.
    """
    subject = Subject.from_data(net, box, partition, X, y, features, classes)
    return [
        certificate_section(subject),
        *census_sections(subject),
        units_section(subject),
        *spline_sections(subject),
        *dual_sections(subject),
        *compression_sections(subject),
        *sensitivity_sections(subject),
    ]
