"""Quickstart: one private linear program, one private policy.

Run it:  python examples/quickstart.py
"""

import gymnasium as gym

from dp_cmdp import Database, Envelope, ParametricLP, PrivacyBudget, release_database, solve_private
from dp_cmdp.affine import Affine
from dp_cmdp.cmdp import robust_policy, synthesize
from envs import HazardGridEnv

# maximise 3x + 2y subject to θ₀x + θ₁y ≤ θ₂; the three θ are private, their bounds are not
envelope = Envelope([0.5, 0.5, 8.0], [2.0, 2.0, 12.0], radius=[0.1, 0.1, 0.5])
program = ParametricLP(
    envelope,
    c=[3.0, 2.0],
    A=Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1]),
    b=Affine(1, at=[0], entry=[2]),
)
program.check_robust_feasibility()  # public data only
release = release_database(Database([1.0, 1.2, 10.0], envelope), PrivacyBudget(1, "1e-3"))
print(release)
print(release.to_frame().to_string(index=False))
solution = solve_private(program, release)
print("x, y =", solution.x, "  certificate:", solution.certificate)

# a policy for a grid world whose hazards are private
curator = HazardGridEnv(access="curator")
model = curator.model()
robust = robust_policy(model)
safe = synthesize(model, release_database(curator.database(), PrivacyBudget(1, "1e-3")))
print(f"\npolicy: value {safe.value:.3f} (robust, without data: {robust.value:.3f})")
print("worst-case cost", safe.certificate.worst_case_cost, "tolerance", safe.certificate.tolerance)

env = gym.make("dp_cmdp/HazardGrid-v0")  # what an agent sees: no hazard is in it
observation, info = env.reset(seed=0)
total, steps, terminated, truncated = 0.0, 0, False, False
while not (terminated or truncated):
    action, _ = safe.policy.predict(observation)
    observation, reward, terminated, truncated, info = env.step(action)
    total, steps = total + float(reward), steps + 1
print(f"one episode: {steps} steps, reward {total:g}, reached the goal: {terminated}")
