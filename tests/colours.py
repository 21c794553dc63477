"""What colours look like to eyes that lack one kind of cone, and how far apart they are then."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Linear RGB as seen without L cones (protan) and without M cones (deutan): Machado, Oliveira and
#: Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE
#: Transactions on Visualization and Computer Graphics 15(6), 2009, severity 1.0.
EYES = {
    "normal": np.eye(3),
    "protan": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deutan": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
#: Linear sRGB to XYZ, white point D65 (IEC 61966-2-1).
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def lab(colour: str, eye: str = "normal") -> NDArray[np.float64]:
    """CIE L*a*b* of ``#rrggbb`` as an eye sees it."""
    coded = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    share = XYZ @ np.clip(EYES[eye] @ linear, 0.0, 1.0) / XYZ.sum(axis=1)
    f = np.where(share > (6 / 29) ** 3, np.cbrt(share), share / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def difference(one: str, other: str) -> float:
    """The least CIE 1976 difference of two colours, over all eyes; 2 can just be told apart."""
    return min(float(np.linalg.norm(lab(one, eye) - lab(other, eye))) for eye in EYES)
