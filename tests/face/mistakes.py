"""What a type checker must refuse: every line with a number is one mistake."""

# ruff: noqa
import dp_cmdp as dp

theta = dp.Envelope(0, 1, shape=2)
lp = dp.ParametricLP(maximize=[1, 1], A=[[1, 1]], b=[theta[0]])
dp.solve(lp, [1, 2])  # 1 no budget
dp.solve(lp, [1, 2], epsilon=1, delta=1e-3, seed=0)  # 2 seed
dp.solve(lp, [1, 2], epsilon=1, delta=1e-3).policy  # 3 LP has no policy
dp.PrivateCost(dp.Envelope(0, 1), 1, states=[1], on="visiting")  # 4
float(theta[0])  # 5
dp.evaluate(lp, dp.Policy([[1.0]]))  # 6
dp.publish(lp, dp.PrivacyBudget(1, 1e-3), epsilon=1, delta=1e-3)  # 7 argument order
