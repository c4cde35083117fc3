"""The sections of a report that are about one network: certificate, regions, units, pieces, sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from creases.network import Network
from creases.regions import LinePartition, PlanePartition
from creases.show.report._census import census_sections
from creases.show.report._certificate import certificate_section
from creases.show.report._pieces import compression_sections, dual_sections
from creases.show.report._sensitivity import sensitivity_sections
from creases.show.report._spline import spline_sections
from creases.show.report._subject import Section, Subject
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
    """Sections (title, text, table, picture) of a report about a network, in the viewer's JSON.

    The work is bounded: at most 2,000 samples are looked at, and the texts say so.

    Parameters
    ----------
    net
        Any network.
    box
        ``[(lo, hi)] * n_in``: where it is looked at.
    X, y
        Samples (n, n_in) and their classes, as numbers, or values (n,).
    features, classes
        Names of the inputs and of the classes. Without classes the outputs are values, not decisions.
    partition
        That is shown; of a network of one or two inputs it is made unless given. A slice through more inputs gets its
        own certificate and census.
    """
    subject = Subject.of(net, box, partition, X, y, features, classes)
    return [
        certificate_section(subject),
        *census_sections(subject),
        units_section(subject),
        *spline_sections(subject),
        *dual_sections(subject),
        *compression_sections(subject),
        *sensitivity_sections(subject),
    ]
