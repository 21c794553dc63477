# The public face, read by type checkers and, at run time, by lazy_loader.
from .accounting.budget import PrivacyBudget as PrivacyBudget
from .accounting.ledger import PrivacyLedger as PrivacyLedger
from .advice.adviser import advise as advise
from .cmdp.evaluation import evaluate as evaluate
from .cmdp.model import CMDP as CMDP
from .cmdp.parametric import ParametricCMDP as ParametricCMDP
from .cmdp.policy import Policy as Policy
from .cmdp.private_policy import release_and_synthesize as release_and_synthesize
from .cmdp.rollout import rollout as rollout
from .cmdp.solvers.door import solve_cmdp as solve_cmdp
from .cmdp.solvers.pool import PolicyPool as PolicyPool
from .cmdp.synthesis import robust_policy as robust_policy
from .cmdp.synthesis import synthesize as synthesize
from .data.affine import Affine as Affine
from .data.database import Database as Database
from .data.envelope import Envelope as Envelope
from .data.release import Release as Release
from .frontends.gymnasium import cmdp_from_gymnasium as cmdp_from_gymnasium
from .metrics import cost_of_privacy as cost_of_privacy
from .metrics import saturation as saturation
from .metrics import suboptimality as suboptimality
from .metrics import violation as violation
from .noise.laws import Laplace as Laplace
from .noise.laws import TruncatedLaplace as TruncatedLaplace
from .program.linear_program import LinearProgram as LinearProgram
from .program.linear_program import Solution as Solution
from .program.linear_program import solve as solve
from .program.parametric import ParametricLP as ParametricLP
from .release.blocks import release_blocks as release_blocks
from .release.entries import release_database as release_database
from .release.solve import release_and_solve as release_and_solve
from .release.solve import solve_private as solve_private
from .theory.accuracy import accuracy_bound as accuracy_bound
from .verification.files import verify as verify

__version__: str
