"""Faults in the judges: audit, compared systems, records, commands."""

from tests.mutants.fault import Fault, in_file

BOUNDARY = "tests/unit/release/test_boundary.py"
CLI = "tests/unit/cli/test_cli.py"
REPORT = "tests/unit/audit/test_report_promises.py"
AUDIT = "tests/unit/audit/test_audit.py"
AUDITED = "tests/statistical/test_audit.py"
CONTRACT = "tests/unit/baselines/test_contract.py"
FACTS = "tests/unit/baselines/test_published_facts.py"

FAULTS = (
    *in_file(
        "dp_cmdp/audit/layers/certificates.py",
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
        "dp_cmdp/audit/layers/coupling.py",
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
        "dp_cmdp/audit/layers/black_box.py",
        ("tests/unit/audit/layers/test_black_box.py", AUDIT, AUDITED),
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
        "dp_cmdp/audit/layers/noise_law.py",
        ("tests/unit/audit/layers/test_noise_law.py", AUDIT, AUDITED),
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
        "dp_cmdp/audit/report.py",
        (REPORT, AUDIT, AUDITED),
        Fault(
            "audit-any-layer-suffices",
            "one objecting layer is enough",
            "return all(verdict.passed is not False for verdict in self.layers.values())",
            "return any(verdict.passed is not False for verdict in self.layers.values())",
        ),
        Fault(
            "audit-report-ignores-bugs",
            "an audit that misses an injected bug fails",
            "and all(bug.caught for bug in self.injected)",
            "and all(bug.found for bug in self.injected)",
        ),
        Fault(
            "audit-report-ignores-worst-records",
            "an audit that finds an uncovered record fails",
            "and all(row.passed for row in self.worst)",
            "and all(row.records for row in self.worst)",
        ),
    ),
    *in_file(
        "dp_cmdp/baselines/parts/blocks.py",
        (REPORT, CONTRACT, FACTS),
        Fault(
            "comparison-leak-unnamed",
            "a compared system names the blocks it leaves unprotected",
            "leaks.append(unprotected(block))",
            "pass",
        ),
        Fault(
            "comparison-block-unprotected",
            "a compared system perturbs the blocks it protects",
            "if block in noise:",
            "if not noise:",
        ),
        Fault(
            "comparison-unprotected-not-widened",
            "unprotected entries are enclosed however their sums were rounded",
            'return Intervals(values, lower, upper, Noise(block, "none", "none", 0.0, 0.0))',
            'return Intervals(values, values, values, Noise(block, "none", "none", 0.0, 0.0))',
        ),
        Fault(
            "comparison-unclipped",
            "released intervals lie in the public bounds",
            "parts.append(drawn.clipped(*block_bounds(envelope, block)))",
            "parts.append(drawn)",
        ),
    ),
    *in_file(
        "dp_cmdp/baselines/parts/composition.py",
        (FACTS,),
        Fault(
            "steps-overspend",
            "the steps of an iteration compose to the budget",
            "return step * root + steps * step * math.expm1(step) - epsilon",
            "return step * root - epsilon",
        ),
    ),
    *in_file(
        "dp_cmdp/baselines/parts/method.py",
        (CONTRACT,),
        Fault(
            "comparison-foreign-database",
            "a method is run on the database of its program",
            "program.check_owns(database)",
            "pass",
        ),
        Fault(
            "comparison-leaks-protected",
            "a method's leaks are the blocks it does not protect",
            "return tuple(name for name in program.sensitive_blocks if name not in self.private)",
            "return tuple(name for name in program.sensitive_blocks if name in self.private)",
        ),
    ),
    *in_file(
        "dp_cmdp/experiments/records.py",
        ("tests/unit/experiments/test_experiments.py", BOUNDARY),
        Fault(
            "records-unsearched",
            "records are searched for a curator's numbers",
            'refuse_curator_values(found, where="rows")',
            "pass",
        ),
    ),
    *in_file(
        "dp_cmdp/cli/evaluate.py",
        (CLI, "tests/unit/cli/test_truth.py"),
        Fault(
            "unsafe-policy-exits-0",
            "the exit code says whether a policy is verified",
            'return 0 if report["certificate"]["verified"] else EXIT_NOT_VERIFIED',
            "return 0",
        ),
        Fault(
            "curator-report-on-stdout",
            "what looks at the truth goes to the curator's file",
            "if options.curator:",
            "if options.curator and options.json:",
        ),
    ),
)
