"""How much privacy can cost, and must: bounds that are certain, in the mean, or likely.

:mod:`~dp_cmdp.theory.accuracy` has the certified bounds, :mod:`~dp_cmdp.theory.simulated_loss` the
one from simulated releases, :mod:`~dp_cmdp.theory.one_release` that of one release which was made,
:mod:`~dp_cmdp.theory.public_interval` what is known without any data,
:mod:`~dp_cmdp.theory.certainty_limit` what no mechanism with certain answers can avoid, and
:mod:`~dp_cmdp.theory.paper.printed_bound` the paper's theorem, printed and repaired.
"""
