"""What privacy costs in accuracy: bounds that hold, and the paper's theorem with its errata.

``accuracy`` bounds the mean loss and any loss, ``instance`` says what one release cost, ``theorem``
is the paper's ``thm:lp_accuracy_e``, printed and repaired, with the constant of ``hoffman``. Proofs
are in ``docs/theory.md``, sections 5 and 6, and the slips of the paper in section 9; each slip has
a test in ``tests/paper/test_errata.py``.
"""
