"""Private safe decisions.

Linear programs and constrained Markov decision processes whose constraints come from private
data, solved under (ε, δ)-differential privacy, with answers that satisfy the true constraints
with certainty. One idea carries the package: *release the private numbers once, as intervals
that certainly contain them; everything after that is ordinary robust optimisation on public
data.*

Names are loaded on first use, so ``import dp_cmdp`` stays light; the list of them is
``__init__.pyi``.
"""

import lazy_loader

from dp_cmdp._version import __version__ as __version__
from dp_cmdp.envs.registration import register_when_imported

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

register_when_imported()
