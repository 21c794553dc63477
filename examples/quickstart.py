"""Quickstart: one private linear program, one private policy.

Run it:  python examples/quickstart.py
"""

import gymnasium as gym

import dp_cmdp as dp

# maximise 3x + 2y subject to θ₀x + θ₁y ≤ θ₂; the three θ are private, their bounds are not
theta = dp.Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5])
lp = dp.ParametricLP(maximize=[3, 2], A=[[theta[0], theta[1]]], b=[theta[2]])
found = dp.solve(lp, [1, 1.2, 10], epsilon=1, delta=1e-3)  # checks, then spends
print(found.release)
print(found.release.to_frame().to_string())
print("x, y =", found.x, found.certificate)
print(f"worth {found.value:.3f}; without data: {found.robust.value:.3f}")

# a policy for a grid world whose hazards are private
curator = dp.envs.HazardGridEnv(access="curator")
found = dp.solve(curator.model(), curator.database(), epsilon=1, delta=1e-3)
print(f"\npolicy: value {found.value:.3f} (robust, without data: {found.robust.value:.3f})")
print(found.to_frame())

env = gym.make("dp_cmdp/HazardGrid-v0")  # what an agent sees: no hazard is in it
observation, info = env.reset(seed=0)
total, steps, terminated, truncated = 0.0, 0, False, False
while not (terminated or truncated):
    action, _ = found.policy.predict(observation)
    observation, reward, terminated, truncated, info = env.step(action)
    total, steps = total + float(reward), steps + 1
print(f"one episode: {steps} steps, reward {total:g}, reached the goal: {terminated}")
