"""Private safe decisions.

Linear programs and constrained Markov decision processes whose constraints come from private
data, solved under (ε, δ)-differential privacy, with answers that satisfy the true constraints
with certainty. One idea carries the package: *release the private numbers once, as linear facts
that are certainly true of them; everything after that is ordinary robust optimisation on public
data.*

Names are loaded on first use, so ``import dp_cmdp`` stays light; the list of them is
``__init__.pyi``.

Examples
--------
>>> from dp_cmdp import Affine, Database, Envelope, ParametricLP, PrivacyBudget
>>> from dp_cmdp import release_and_solve
>>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
>>> envelope = Envelope(1, 2, radius=0.02, shape=2)  # public: bounds of two private prices
>>> program = ParametricLP(envelope, c=[3, 2], A=price, b=[8])  # price · x ≤ 8
>>> database = Database([1.2, 1.1], envelope)
>>> answer = release_and_solve(program, database, PrivacyBudget(1, "1/1000"))
>>> answer.solution.certificate.verified  # the true prices are respected, with certainty
True
"""

import lazy_loader

from dp_cmdp._version import __version__ as __version__
from dp_cmdp.envs.registration import register_when_imported

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

register_when_imported()
