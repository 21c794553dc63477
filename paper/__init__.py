"""The laboratory: everything that makes the paper's numbers and ours again.

``python -m paper`` lists the studies. It is not part of the package: it uses the public face of
:mod:`dp_cmdp` on invented data, and every function here may read the truth.

==============  ===================================================================
``baselines``   every system of the paper's Table 1, ours beside them, and references
``problems``    ready problems: ad auctions, hazard grids, knapsacks, staffing
``studies``     settings, a function of one draw, and a table
``figures``     a picture of each table
``bounds``      the paper's theorem with its errata, and bounds that hold
==============  ===================================================================
"""
