"""Quickstart: one private linear program, one private policy.

Run it:  python examples/quickstart.py
"""

import gymnasium as gym

from dp_cmdp import Database, Envelope, ParametricLP, PrivacyBudget, release_and_solve
from dp_cmdp.cmdp.private_policy import release_and_synthesize
from dp_cmdp.data.affine import Affine
from dp_cmdp.envs import HazardGridEnv

# maximise 3x + 2y subject to θ₀x + θ₁y ≤ θ₂; the three θ are private, their bounds are not
envelope = Envelope([0.5, 0.5, 8.0], [2.0, 2.0, 12.0], radius=[0.1, 0.1, 0.5])
program = ParametricLP(
    envelope,
    c=[3.0, 2.0],
    A=Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1]),
    b=Affine(1, at=[0], entry=[2]),
)
database = Database([1.0, 1.2, 10.0], envelope)
answer = release_and_solve(program, database, PrivacyBudget(1, "1e-3"))  # checks, then spends
print(answer.release)
print(answer.release.to_frame().to_string(index=False))
print("x, y =", answer.solution.x, "  certificate:", answer.solution.certificate)
print(f"worth {answer.solution.objective:.3f}; without data: {answer.robust.objective:.3f}")

# a policy for a grid world whose hazards are private
curator = HazardGridEnv(access="curator")
private = release_and_synthesize(curator.model(), curator.database(), PrivacyBudget(1, "1e-3"))
safe = private.safe
print(f"\npolicy: value {safe.value:.3f} (robust, without data: {private.robust.value:.3f})")
print("worst-case cost", safe.certificate.worst_case_cost, "tolerance", safe.certificate.tolerance)

env = gym.make("dp_cmdp/HazardGrid-v0")  # what an agent sees: no hazard is in it
observation, info = env.reset(seed=0)
total, steps, terminated, truncated = 0.0, 0, False, False
while not (terminated or truncated):
    action, _ = safe.policy.predict(observation)
    observation, reward, terminated, truncated, info = env.step(action)
    total, steps = total + float(reward), steps + 1
print(f"one episode: {steps} steps, reward {total:g}, reached the goal: {terminated}")
