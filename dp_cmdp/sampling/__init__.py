"""Exact noise: integers from the operating system, with a certificate of exact fractions.

Data are rounded to a lattice (:mod:`~dp_cmdp.sampling.lattice`); truncated Laplace
(:mod:`~dp_cmdp.sampling.truncated`), Laplace (:mod:`~dp_cmdp.sampling.lattice_laplace`) and optimal
one-entry noise (:mod:`~dp_cmdp.sampling.optimal_noise`) are drawn as integers; why that is private
is a comparison of fractions (:mod:`~dp_cmdp.sampling.certificate`).
"""

from dp_cmdp.sampling.certificate import NoiseCertificate
from dp_cmdp.sampling.lattice import Lattice
from dp_cmdp.sampling.lattice_laplace import LatticeLaplace
from dp_cmdp.sampling.optimal_noise import OptimalNoise
from dp_cmdp.sampling.truncated import LatticeTruncatedLaplace

__all__ = [
    "Lattice",
    "LatticeLaplace",
    "LatticeTruncatedLaplace",
    "NoiseCertificate",
    "OptimalNoise",
]
