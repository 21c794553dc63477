# The public face: 13 types and 9 verbs. Read by type checkers and, at run time, by lazy_loader.
from . import audit as audit
from . import curator as curator
from . import cvxpy as cvxpy
from . import envs as envs
from . import errors as errors
from . import extend as extend
from . import figures as figures
from . import gymnasium as gymnasium
from . import lpfile as lpfile
from ._src.accounting.budget import PrivacyBudget as PrivacyBudget
from ._src.accounting.ledger import PrivacyLedger as PrivacyLedger
from ._src.advice.advise import advise as advise
from ._src.checking.verify import verify as verify
from ._src.cmdp.costs import PrivateCost as PrivateCost
from ._src.cmdp.evaluate import evaluate as evaluate
from ._src.cmdp.model import CMDP as CMDP
from ._src.cmdp.parametric import ParametricCMDP as ParametricCMDP
from ._src.cmdp.policy import Policy as Policy
from ._src.cmdp.rollout import rollout as rollout
from ._src.data.affine import Affine as Affine
from ._src.data.database import Database as Database
from ._src.data.envelope import Envelope as Envelope
from ._src.program.answer import Answer as Answer
from ._src.program.parametric import ParametricLP as ParametricLP
from ._src.release.release import Release as Release
from ._src.release.strategy import Strategy as Strategy
from ._src.verbs.free import answer as answer
from ._src.verbs.free import certify as certify
from ._src.verbs.simulation import simulate as simulate
from ._src.verbs.spend import publish as publish
from ._src.verbs.spend import solve as solve

__all__ = [
    "CMDP",
    "Affine",
    "Answer",
    "Database",
    "Envelope",
    "ParametricCMDP",
    "ParametricLP",
    "Policy",
    "PrivacyBudget",
    "PrivacyLedger",
    "PrivateCost",
    "Release",
    "Strategy",
    "advise",
    "answer",
    "certify",
    "evaluate",
    "publish",
    "rollout",
    "simulate",
    "solve",
    "verify",
]

__version__: str
