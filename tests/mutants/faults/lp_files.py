"""Faults in what files of linear programs say, and in what becomes public of them."""

from tests.mutants.fault import Fault, in_file

FILE = "tests/unit/frontends/test_lp_file.py"
PRIVATE = "tests/unit/frontends/test_private_lp.py"
COMMAND = "tests/unit/cli/test_lp.py"

FAULTS = (
    *in_file(
        "dp_cmdp/frontends/lp_file.py",
        (FILE,),
        Fault(
            "lp-integers-relaxed-silently",
            "integer columns are relaxed only on the user's word",
            "if integer and not relax:",
            "if integer and relax:",
        ),
        Fault(
            "lp-lower-sides-not-turned",
            "≥ rows keep their sense",
            'sparse.vstack([self.A[up], -self.A[down]], format="csr"),',
            'sparse.vstack([self.A[up], self.A[down]], format="csr"),',
        ),
        Fault(
            "lp-sense-ignored",
            "a file that minimises is minimised",
            "return 1.0 if self.maximise else -1.0",
            "return 1.0",
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/file_outline.py",
        (FILE,),
        Fault(
            "lp-bounds-not-compared",
            "HiGHS made what the file states",
            "and _close(bounds, made).all()",
            "and made.size >= 0",
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/mps_grammar.py",
        (FILE,),
        Fault(
            "mps-third-pair-unread",
            "numbers that HiGHS would drop are refused",
            "if len(fields) not in (2, 4):",
            "if len(fields) % 2:",
        ),
        Fault(
            "mps-bound-of-no-column",
            "a misspelt column is refused",
            "if rest[-1] not in self.found.columns:",
            "if not rest[-1]:",
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/lp_grammar.py",
        (FILE,),
        Fault(
            "lp-constant-on-the-left",
            "numbers that HiGHS would drop are refused",
            "self.found.coefficients += self._terms(constants=0, row=row)",
            "self.found.coefficients += self._terms(constants=1, row=row)",
        ),
        Fault(
            "lp-cost-stated-twice",
            "numbers that HiGHS would drop are refused",
            "if name.text in names:",
            "if not name.text:",
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/private_lp.py",
        (PRIVATE, COMMAND),
        Fault(
            "lp-relative-to-private-numbers",
            "no public bound is made from a private number",
            "if not public_model:",
            "if public_model is None:",
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/lp_values.py",
        (PRIVATE, COMMAND),
        Fault(
            "lp-cost-not-blanked",
            "a public program holds no private cost",
            'parts["c"][group.column] = 0.0',
            'parts["c"][group.column] *= 1.0',
        ),
        Fault(
            "lp-side-not-blanked",
            "a public program holds no private right-hand side",
            'parts[f"row_{group.side}"][group.row] = ends[envelope.index(group.name)]',
            'parts[f"row_{group.side}"][group.row] += 0.0',
        ),
        Fault(
            "lp-coefficient-not-blanked",
            "a public program holds no private coefficient",
            "A.data = np.where(np.isin(keys, group.row * width + group.column), 0.0, A.data)",
            "A.data = np.where(np.isin(keys, group.row * width + group.column), A.data, A.data)",
        ),
        Fault(
            "lp-second-file-believed",
            "public numbers of a second file are those of the model",
            "if not same or abs(other.A - public.A).max() > 0.0:",
            "if abs(other.A - public.A).max() > 0.0:",
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/lp_places.py",
        (PRIVATE, COMMAND),
        Fault(
            "lp-realised-pattern",
            "which coefficients are not 0 is private unless it is said",
            "if block.pattern is None and wild and not public_model:",
            "if block.pattern is None and wild and public_model is None:",
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/lp_sides.py",
        (PRIVATE, COMMAND),
        Fault(
            "lp-equality-with-private-coefficient",
            "an equality with a private coefficient is refused",
            "if wrong.size:",
            "if wrong.size > group.row.size:",
        ),
        Fault(
            "lp-sides-that-just-meet",
            "a range that may collapse is refused",
            'meet = model.equal[row] | (self._rows["lower"][row] >= self._rows["upper"][row])',
            "meet = model.equal[row]",
        ),
        Fault(
            "lp-side-shown-by-the-other",
            "no public side follows from a private one",
            'if two[row] and (record not in ("row", "all") or records[other].get(row) != record):',
            'if two[row] and record not in ("row", "all", "entry"):',
        ),
        Fault(
            "lp-fixed-column-shown",
            "no public bound follows from a private one",
            "wrong |= (lower == upper) | (model.lower[column] == model.upper[column])",
            "wrong |= model.lower[column] == model.upper[column]",
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/lp_repairs.py",
        (PRIVATE,),
        Fault(
            "lp-repair-the-wrong-way",
            "the repair that is named repairs",
            'verb = "raise" if np.isfinite(model.row_upper[at]) else "lower"',
            'verb = "raise"',
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/lp_rows.py",
        (PRIVATE, COMMAND),
        Fault(
            "lp-private-bound-forgotten",
            "private bounds of columns are rows that hold",
            "entry=np.concatenate([terms_b[1], *(entry[g.name] for g in bounds)]),",
            "entry=np.concatenate([terms_b[1], *(0 * entry[g.name] for g in bounds)]),",
        ),
        Fault(
            "lp-public-part-of-private-side",
            "a private right-hand side is its entry and nothing besides",
            "constant[terms_b[0]] = 0.0",
            "constant[terms_b[0]] *= 1.0",
        ),
    ),
)
