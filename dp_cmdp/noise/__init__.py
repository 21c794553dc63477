"""Exact noise: integers from the operating system, with a certificate of exact fractions.

Data are rounded to a lattice (:mod:`~dp_cmdp.noise.lattice`); truncated Laplace
(:mod:`~dp_cmdp.noise.truncated`), Laplace (:mod:`~dp_cmdp.noise.laplace`) and optimal
one-entry noise (:mod:`~dp_cmdp.noise.optimal`) are drawn as integers; why that is private
is a comparison of fractions (:mod:`~dp_cmdp.noise.certificate`).
"""
