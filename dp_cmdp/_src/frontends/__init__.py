"""Other people's models as problems: cvxpy, Gymnasium, files of linear programs."""
