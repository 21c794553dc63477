"""Faults at the privacy boundary: databases, marks, files, errors, environments, commands, audits."""

# ruff: noqa: E501  (lines of the package are quoted as they stand, under more indentation)

from tests.mutants.fault import Fault, in_file

BOUNDARY = "tests/unit/test_boundary.py"
DATABASE = "tests/unit/test_database.py"
ERRORS = "tests/property/test_private_errors.py"
CHECK = "tests/unit/test_check.py"
GRID = "tests/unit/envs/test_hazard_grid.py"
HAZARDS = "tests/unit/envs/test_hazards.py"
WRAPPERS = "tests/unit/envs/test_wrappers.py"
CLI = "tests/unit/test_cli.py"
AUDIT = "tests/unit/test_audit.py"
AUDITED = "tests/statistical/test_audit.py"
CONTRACT = "tests/unit/baselines/test_contract.py"
FACTS = "tests/unit/baselines/test_published_facts.py"

FAULTS = (
    *in_file(
        "dp_cmdp/database.py",
        (DATABASE, ERRORS, BOUNDARY),
        Fault(
            "database-repr-shows-values",
            "a database shows no value",
            'return f"Database(<private>, {describe(self.envelope.groups)}{label})"',
            'return f"Database({self.values}, {describe(self.envelope.groups)}{label})"',
        ),
        Fault(
            "database-can-be-pickled",
            "a database refuses to be pickled and copied",
            "def __reduce_ex__(self, protocol: Any) -> Any:",
            "def _reduce(self, protocol: Any) -> Any:",
        ),
        Fault(
            "outside-value-quoted",
            "an error never quotes a private value",
            '"values must lie inside the envelope; some do not (their values and positions are "',
            'f"values must lie inside the envelope, got {flat} (their values and positions are "',
        ),
        Fault(
            "outside-value-accepted",
            "values outside the envelope are refused",
            "if not envelope.contains(flat):  # NaN fails too",
            "if envelope.contains(flat) is None:",
        ),
        Fault(
            "database-can-be-changed",
            "a database is read-only",
            'object.__setattr__(self, "values", _check.frozen(flat))',
            'object.__setattr__(self, "values", flat)',
        ),
        Fault(
            "groups-in-the-order-given",
            "values by name go to the places of their groups",
            "for name, shape in envelope.groups",
            "for name, shape in zip(values, [shape for _, shape in envelope.groups])",
        ),
    ),
    *in_file(
        "dp_cmdp/_check.py",
        (CHECK, ERRORS, DATABASE),
        Fault(
            "private-position-shown",
            "an error does not say which private value it is about",
            'where = "" if private else f"; first offending index {int(np.argmax(bad))}"',
            'where = f"; first offending index {int(np.argmax(bad))}"',
            tests=(CHECK, ERRORS, DATABASE, "tests/unit/test_lattice.py"),
        ),
        Fault(
            "truth-values-are-numbers",
            "True is no number",
            "if isinstance(value, bool) or not isinstance(value, numbers.Real):",
            "if not isinstance(value, numbers.Real):",
            tests=(CHECK, "tests/property/test_bad_calls.py"),
        ),
        Fault(
            "complex-numbers-lose-a-part",
            "complex numbers are refused",
            "if not objects and array.dtype.kind not in REAL_KINDS:",
            'if not objects and array.dtype.kind not in REAL_KINDS + "c":',
        ),
        Fault(
            "nan-accepted",
            "NaN and infinities are refused",
            "bad = np.isnan(array) if allow_infinite else ~np.isfinite(array)",
            "bad = np.isnan(array)",
        ),
        Fault(
            "arrays-writable",
            "arrays of public objects are read-only",
            "array.flags.writeable = False",
            "array.flags.writeable = array.flags.writeable",
            tests=(CHECK, DATABASE, "tests/unit/test_lp.py"),
        ),
    ),
    *in_file(
        "dp_cmdp/curator.py",
        (BOUNDARY, "tests/unit/test_metrics.py"),
        Fault(
            "mark-lost-in-operators",
            "what is computed from a curator's number stays marked",
            "return marked(plain(self, *others))",
            "return plain(self, *others)",
        ),
        Fault(
            "mark-lost-in-reflected-operators",
            "what is computed from a curator's number stays marked",
            'for _side in ("", "r"):',
            'for _side in ("",):',
        ),
        Fault(
            "mark-lost-in-unary-operators",
            "what is computed from a curator's number stays marked",
            'for _name in ("neg", "pos", "abs", "round", "floor", "ceil", "trunc"):',
            'for _name in ("neg", "pos", "abs"):',
        ),
        Fault(
            "mark-lost-in-numpy",
            "what numpy computes from a curator's number stays marked",
            "return marked(getattr(ufunc, method)(*plain, **options))",
            "return getattr(ufunc, method)(*plain, **options)",
        ),
        Fault(
            "mark-lost-in-arrays",
            "arrays of a curator's numbers stay marked",
            'if isinstance(result, np.ndarray) and result.dtype.kind in "iuf":',
            'if isinstance(result, np.ndarray) and result.dtype.kind in "iu":',
        ),
        Fault(
            "mark-unseen-in-keys",
            "a curator's number is refused as a key too",
            'refuse_curator_values(key, where=f"a key of {where}")',
            "pass",
        ),
        Fault(
            "mark-unseen-in-arrays",
            "a curator's number is found in arrays",
            "elif isinstance(content, np.ndarray) and content.dtype == object:",
            "elif isinstance(content, np.ndarray) and content.dtype == bool:",
        ),
        Fault(
            "mark-unseen-in-dataclasses",
            "a curator's number is found in dataclasses",
            "if is_dataclass(content) and not isinstance(content, type):",
            "if is_dataclass(content) and isinstance(content, type):",
        ),
        Fault(
            "mark-unseen-in-sets",
            "a curator's number is found in sets",
            "elif isinstance(content, list | tuple | set | frozenset):",
            "elif isinstance(content, list | tuple):",
        ),
        Fault(
            "curator-part-published",
            "a curator_only part is refused by public files",
            'if key == "curator_only":',
            'if key == "curator":',
        ),
        Fault(
            "public-file-unsearched",
            "public files are searched for a curator's numbers",
            "refuse_curator_values(content)",
            "pass",
        ),
    ),
    *in_file(
        "dp_cmdp/storage.py",
        (DATABASE, BOUNDARY, CLI),
        Fault(
            "file-not-atomic",
            "a file holds all of its content or what it held before",
            "temporary.replace(target)",
            "target.write_bytes(content); temporary.unlink()",
        ),
        Fault(
            "private-file-open",
            "a private file can be read by its owner only",
            "mode = 0o600 if private else 0o666",
            "mode = 0o666",
        ),
        Fault(
            "temporary-left-behind",
            "a failed write leaves nothing behind",
            "temporary.unlink(missing_ok=True)",
            "pass",
        ),
        Fault(
            "file-unpickled",
            "nothing is unpickled",
            'with source.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:',
            'with source.open("rb") as stream, np.load(stream, allow_pickle=True) as archive:',
        ),
        Fault(
            "format-unchecked",
            "a file of another kind is refused",
            "if said != format:",
            'if said == "nothing":',
        ),
    ),
    *in_file(
        "envs/hazard_grid.py",
        (GRID,),
        Fault(
            "public-environment-takes-hazards",
            "a public environment holds no private data",
            "elif hazards is not None:",
            "elif hazards is Hazards:",
        ),
        Fault(
            "public-environment-reports-true-costs",
            "the public cost is the public worst case",
            "self._costs = self.grid_model.worst_cost_table()",
            "self._costs = self.grid_model.cost_table(Hazards.of(self.layout, None).severity)",
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
        (HAZARDS,),
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
        (WRAPPERS,),
        Fault(
            "wrapper-reports-the-estimate",
            "a learner sees the released upper cost",
            'self._costs = grid.grid_model.cost_table(release.group("severity")["upper"])',
            'self._costs = grid.grid_model.cost_table(release.group("severity")["estimate"])',
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
            "cost = cost_at(self._costs, before)",
            "cost = cost_at(self._costs, self._grid.state)",
        ),
        Fault(
            "wrapper-tolerance-at-the-upper-end",
            "the released tolerance is at most the true one",
            'return _check.frozen(self.release.group("tolerance")["lower"].copy())',
            'return _check.frozen(self.release.group("tolerance")["upper"].copy())',
        ),
        Fault(
            "wrapper-takes-any-release",
            "a release of other groups is refused",
            'if release.method != "database" or release.groups != grid.layout.envelope().groups:',
            'if release.method != "database":',
        ),
    ),
    *in_file(
        "dp_cmdp/audit/certificates.py",
        (AUDIT, AUDITED),
        Fault(
            "audit-believes-certificates",
            "the audit recomputes every certificate",
            "if not certificate.check():",
            "if certificate.delta > 1:",
        ),
        Fault(
            "audit-sum-unchecked",
            "certificates together spend no more than is claimed",
            "if spent > epsilon or risked > delta:",
            "if spent > epsilon and risked > delta:",
        ),
    ),
    *in_file(
        "dp_cmdp/audit/coupling.py",
        (AUDIT, AUDITED),
        Fault(
            "audit-moves-ignored",
            "outputs move exactly with the data",
            "off = ~(np.abs(second - first - self.moved) <= room)",
            "off = ~(np.abs(second - first - self.moved) <= room + 1.0)",
        ),
        Fault(
            "audit-calls-ignored",
            "noise is asked for in the same way whatever the data",
            "if calls[0] != calls[1]:",
            "if len(calls[0]) != len(calls[1]):",
        ),
    ),
    *in_file(
        "dp_cmdp/audit/black_box.py",
        (AUDIT, AUDITED),
        Fault(
            "audit-passes-everything",
            "a lower bound above the claim is an objection",
            'return Verdict(best <= epsilon, f"best event: {words}", numbers), best',
            'return Verdict(True, f"best event: {words}", numbers), best',
        ),
        Fault(
            "audit-limit-too-bold",
            "a private mechanism is accused with the stated probability at most",
            "return 0.0 if count == 0 else float(beta.ppf(alpha, count, runs - count + 1))",
            "return 0.0 if count == 0 else count / runs",
        ),
        Fault(
            "audit-one-direction",
            "both databases are compared with each other",
            "for a, b in ((one, two), (two, one))",
            "for a, b in ((one, two),)",
        ),
    ),
    *in_file(
        "dp_cmdp/audit/noise_law.py",
        (AUDIT, AUDITED),
        Fault(
            "audit-support-unchecked",
            "a draw outside the support is an objection",
            "if facts.support is not None and not size.max() <= facts.support * (1 + 1e-12):",
            "if facts.support is not None and not size.max() <= facts.support * 2:",
        ),
        Fault(
            "audit-shells-unchecked",
            "the mass of every shell is compared",
            "if not low <= tail <= high:",
            "if not low <= high:",
        ),
    ),
    *in_file(
        "dp_cmdp/audit/verdicts.py",
        (AUDIT, AUDITED),
        Fault(
            "audit-any-layer-suffices",
            "one objecting layer is enough",
            "return all(verdict.passed is not False for verdict in self.layers.values())",
            "return any(verdict.passed is not False for verdict in self.layers.values())",
        ),
        Fault(
            "audit-report-ignores-bugs",
            "an audit that misses an injected bug fails",
            "return all(m.passed for m in self.methods) and all(b.caught for b in self.injected)",
            "return all(m.passed for m in self.methods)",
        ),
    ),
    *in_file(
        "dp_cmdp/baselines/blocks.py",
        (CONTRACT, FACTS),
        Fault(
            "comparison-leak-unnamed",
            "a compared system names the blocks it leaves bare",
            'leaks.append(f"block {block} unprotected")',
            "pass",
        ),
        Fault(
            "comparison-block-bare",
            "a compared system perturbs the blocks it protects",
            "if block in noise:",
            "if not noise:",
        ),
        Fault(
            "comparison-bare-not-widened",
            "bare entries are enclosed however their sums were rounded",
            'return Intervals(values, lower, upper, Noise(block, "none", "none", 0.0, 0.0))',
            'return Intervals(values, values, values, Noise(block, "none", "none", 0.0, 0.0))',
        ),
        Fault(
            "comparison-unclipped",
            "released intervals lie in the public bounds",
            "parts.append(noise[block](values[block]).clipped(lower, upper))",
            "parts.append(noise[block](values[block]))",
        ),
    ),
    *in_file(
        "dp_cmdp/baselines/composition.py",
        (FACTS,),
        Fault(
            "steps-overspend",
            "the steps of an iteration compose to the budget",
            "return step * root + steps * step * math.expm1(step) - epsilon",
            "return step * root - epsilon",
        ),
    ),
    *in_file(
        "dp_cmdp/baselines/method.py",
        (CONTRACT,),
        Fault(
            "comparison-foreign-database",
            "a method is run on the database of its program",
            "if program.envelope is not database.envelope:",
            "if program.envelope is None:",
        ),
        Fault(
            "comparison-leaks-protected",
            "a method's leaks are the blocks it does not protect",
            "if block not in self.private and not getattr(program, block).is_public",
            "if block in self.private and not getattr(program, block).is_public",
        ),
    ),
    *in_file(
        "dp_cmdp/cli/evaluate.py",
        (CLI,),
        Fault(
            "unsafe-policy-exits-0",
            "the exit code says whether a policy is verified",
            "code = 0 if proof.verified else EXIT_NOT_VERIFIED",
            "code = 0",
        ),
        Fault(
            "curator-report-unmarked",
            "what looks at the truth is marked in the output",
            'print_json({"curator_only": report} if options.curator else report)',
            "print_json(report)",
        ),
    ),
    *in_file(
        "dp_cmdp/experiments/records.py",
        ("tests/unit/test_experiments.py", BOUNDARY),
        Fault(
            "records-unsearched",
            "records are searched for a curator's numbers",
            'refuse_curator_values(found, where="rows")',
            "pass",
        ),
    ),
)
