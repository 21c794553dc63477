"""Private safe decisions.

Linear programs and constrained Markov decision processes whose constraints come from private
data, solved under (ε, δ)-differential privacy, with answers that satisfy the true constraints
with certainty. One idea carries the package: *release the private numbers once, as linear
inequalities that are certainly true of them; everything after that is ordinary robust
optimisation on public data.*

Names are loaded on first use, so ``import dp_cmdp`` stays light; the list of them is
``__init__.pyi``.

Examples
--------
>>> import dp_cmdp as dp
>>> theta = dp.Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5])  # public
>>> lp = dp.ParametricLP(maximize=[3, 2], A=[[theta[0], theta[1]]], b=[theta[2]])
>>> found = dp.solve(lp, [1, 1.2, 10], epsilon=2, delta=1e-3)
>>> found.certificate.verified  # the true rows hold, with certainty
True
"""

import lazy_loader

from dp_cmdp._version import __version__ as __version__
from dp_cmdp.envs.registration import register_when_imported

__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)
#: The types and verbs; submodules (``dp_cmdp.curator``, …) are not imported by ``*``.
__all__ = [name for name in _names if name not in (
    "audit", "curator", "cvxpy", "envs", "errors", "extend", "figures", "gymnasium", "lpfile",
)]  # fmt: skip

register_when_imported()
