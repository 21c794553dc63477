"""Constrained Markov decision processes: model, policies, exact solution and evaluation."""

from dp_cmdp.cmdp.certificate import PolicyCertificate, certify_policy
from dp_cmdp.cmdp.evaluation import Evaluation, evaluate
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.occupancy import flow_matrix, occupancy_of, policy_from_occupancy
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.private_policy import PrivatePolicy, release_and_synthesize
from dp_cmdp.cmdp.rollout import Rollout, rollout
from dp_cmdp.cmdp.solvers.door import solve_cmdp
from dp_cmdp.cmdp.solvers.solution import CMDPSolution
from dp_cmdp.cmdp.synthesis import (
    SafePolicy,
    check_robust_policy,
    robust_policy,
    safe_policy,
    synthesize,
)

__all__ = [
    "CMDP",
    "CMDPSolution",
    "Evaluation",
    "ParametricCMDP",
    "Policy",
    "PolicyCertificate",
    "PrivatePolicy",
    "Rollout",
    "SafePolicy",
    "certify_policy",
    "check_robust_policy",
    "evaluate",
    "flow_matrix",
    "occupancy_of",
    "policy_from_occupancy",
    "release_and_synthesize",
    "robust_policy",
    "rollout",
    "safe_policy",
    "solve_cmdp",
    "synthesize",
]
