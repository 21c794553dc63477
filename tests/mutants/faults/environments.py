"""Faults in the environments: what the public side shows."""

from tests.mutants.fault import Fault, in_file

PROMISES = "tests/unit/envs/test_env_promises.py"
GRID = "tests/unit/envs/test_hazard_grid.py"
HAZARDS = "tests/unit/envs/test_hazards.py"
WRAPPERS = "tests/unit/envs/test_wrappers.py"

FAULTS = (
    *in_file(
        "envs/hazard_grid.py",
        (PROMISES, GRID),
        Fault(
            "public-environment-takes-hazards",
            "a public environment holds no private data",
            "elif hazards is not None:",
            "elif hazards is Hazards:",
        ),
        Fault(
            "public-environment-reports-true-costs",
            "the public cost is the public worst case",
            "return self.grid_model.worst_cost_table()",
            "return self.grid_model.cost_table(Hazards.of(self.layout, None).severity)",
        ),
        Fault(
            "public-database",
            "a public environment has no database",
            "if self.access != CURATOR:",
            "if self.access is None:",
        ),
        Fault(
            "public-tolerance-at-its-upper-bound",
            "the public tolerance is the least the bounds allow",
            "return _check.frozen(np.array([kind.tolerance[0] for kind in self.layout.kinds]))",
            "return _check.frozen(np.array([kind.tolerance[1] for kind in self.layout.kinds]))",
        ),
        Fault(
            "cost-of-the-cell-entered",
            "the cost is that of the cell in which the action was taken",
            'info = {"cost": cost_at(self._costs, before)}',
            'info = {"cost": cost_at(self._costs, after)}',
        ),
        Fault(
            "public-picture-shows-costs",
            "only the curator's picture shows hazards",
            "return self.picture(self._costs if self.access == CURATOR else None, hatched=False)",
            "return self.picture(self._costs, hatched=False)",
        ),
        Fault(
            "cost-can-be-written",
            "a reported cost is a copy",
            "return float(costs[0]) if costs.size == 1 else costs.copy()",
            "return float(costs[0]) if costs.size == 1 else costs",
        ),
    ),
    *in_file(
        "envs/hazards.py",
        (PROMISES, HAZARDS),
        Fault(
            "hazards-repr-shows-values",
            "hazards show no value",
            'return f"Hazards(<private>, layout={self.layout.name!r})"',
            'return f"Hazards({self.severity}, layout={self.layout.name!r})"',
        ),
        Fault(
            "hazards-can-be-pickled",
            "hazards refuse to be pickled",
            "def __reduce_ex__(self, protocol: Any) -> Any:",
            "def _reduce(self, protocol: Any) -> Any:",
        ),
        Fault(
            "hazard-outside-candidates-quoted",
            "an error does not say where a hazard is",
            '"(where is not shown); add the cell to the layout or remove the hazard"',
            'f"({row}, {col}); add the cell to the layout or remove the hazard"',
        ),
        Fault(
            "hazard-outside-candidates-dropped",
            "a hazard outside the public candidates is refused",
            "if not inside or cell not in candidates:",
            "if not inside:",
        ),
        Fault(
            "severity-outside-bounds",
            "a severity outside its public bounds is refused as such",
            "outside = (values < envelope.lower) | (values > envelope.upper)",
            "outside = (values < envelope.lower) | (values > 2 * envelope.upper)",
        ),
        Fault(
            "foreign-hazards",
            "hazards belong to their layout",
            "if source.layout.kinds != layout.kinds:",
            "if source.layout.num_kinds != layout.num_kinds:",
        ),
    ),
    *in_file(
        "envs/wrappers.py",
        (PROMISES, WRAPPERS),
        Fault(
            "wrapper-reports-the-estimate",
            "a learner sees the released upper cost",
            'return grid.grid_model.cost_table(release.group("severity")["upper"])',
            'return grid.grid_model.cost_table(release.group("severity")["estimate"])',
        ),
        Fault(
            "wrapper-reports-the-inner-cost",
            "a learner sees the released cost, not the one beneath",
            'return observation, reward, terminated, truncated, {**info, "cost": cost}',
            'return observation, reward, terminated, truncated, {"cost": cost, **info}',
        ),
        Fault(
            "wrapper-of-a-curator",
            "a learner cannot reach a database",
            "if grid.access != PUBLIC:",
            "if grid.access is None:",
        ),
        Fault(
            "wrapper-cost-of-the-cell-entered",
            "the released cost is that of the cell in which the action was taken",
            "return cost_at(self._costs, before)",
            "return cost_at(self._costs, self._grid.state)",
        ),
        Fault(
            "wrapper-tolerance-at-the-upper-end",
            "the released tolerance is at most the true one",
            "return _check.frozen(self._tightened.f0.copy())",
            "return _check.frozen(self._tightened.f0 + 0.01)",
        ),
        Fault(
            "wrapper-takes-any-release",
            "a release of other groups is refused",
            'if release.method != "database" or release.groups != grid.layout.envelope().groups:',
            'if release.method != "database":',
        ),
    ),
)
