"""Faults in what is public about data: sensitivities, blocks, envelopes, budgets."""

# ruff: noqa: E501  (lines of the package are quoted as they stand, under more indentation)

from tests.mutants.fault import Fault, in_file

PROMISES = "tests/unit/release/test_promises.py"
MOVEMENT = "tests/unit/noise/test_movement.py"
PROGRAMS = "tests/unit/program/test_promises.py"
TERMS = "tests/unit/data/test_exact_terms.py"
PRIVATIZER = "tests/unit/release/test_privatizer.py"
PARAMETRIC = "tests/unit/program/test_parametric.py"
PRIVACY = "tests/unit/accounting/test_budget.py"
DATABASE = "tests/unit/data/test_database.py"
FEASIBILITY = "tests/property/test_feasibility.py"

FAULTS = (
    *in_file(
        "dp_cmdp/data/affine.py",
        (TERMS, PROGRAMS, PARAMETRIC, PRIVATIZER, MOVEMENT, FEASIBILITY),
        Fault(
            "sensitivity-signed",
            "a sensitivity adds up sizes of changes, whatever their signs",
            "factors = [np.abs(self.coefficient), radius[self.entry]]",
            "factors = [self.coefficient, radius[self.entry]]",
        ),
        Fault(
            "sensitivity-without-records",
            "all entries of a record move together",
            "owner = records[self.entry]",
            "owner = self.entry",
        ),
        Fault(
            "bounds-not-widened",
            "bounds of an LP entry are rounded outwards",
            "return base + low - error, base + high + error",
            "return base + low, base + high",
        ),
        Fault(
            "bounds-of-one-end",
            "bounds take each term at its own worst end",
            "for terms in (np.minimum(*ends), np.maximum(*ends))",
            "for terms in ends",
        ),
        Fault(
            "rounding-of-constants-forgotten",
            "the rounding of a sum counts its public part",
            "is_exact = ((count == 1) & (base == 0.0) & (weight == 1.0)) | (live == 0)",
            "is_exact = ((count == 1) & (weight == 1.0)) | (live == 0)",
        ),
        Fault(
            "rounding-of-products-forgotten",
            "the rounding of a sum counts its products",
            "is_exact = ((count == 1) & (base == 0.0) & (weight == 1.0)) | (live == 0)",
            "is_exact = ((count == 1) & (base == 0.0)) | (live == 0)",
        ),
        Fault(
            "single-entries-with-constants",
            "the rounding of a sum counts its public part",
            "if position.size == base.size and not base.any() and (weights == 1.0).all():",
            "if position.size == base.size and (weights == 1.0).all():",
        ),
        Fault(
            "underflow-of-products-forgotten",
            "the rounding of a sum counts products that underflow",
            "error = (count + 1) * 2.0**-51 * (base + size) + live * UNDERFLOW",
            "error = (count + 1) * 2.0**-51 * (base + size)",
        ),
        Fault(
            "repeated-terms-added-in-floats",
            "repeated terms are added exactly",
            "total = exact.expansion(factors[first : first + size].tolist())",
            "total = [float(factors[first : first + size].sum())]",
        ),
    ),
    *in_file(
        "dp_cmdp/release/block_plans.py",
        (PROMISES, PRIVATIZER, PARAMETRIC, MOVEMENT),
        Fault(
            "block-unit-of-one-number",
            "a block is scaled to all that one record moves",
            "unit = np.full(low.size, movement.total)",
            "unit = np.full(low.size, movement.amount.max())",
        ),
        Fault(
            "unprotected-block-silent",
            "a sensitive block without budget is refused unless the leak is allowed",
            "if blocks and not allow_leak:",
            "if blocks and allow_leak:",
        ),
        Fault(
            "unprotected-block-unrecorded",
            "what is published unprotected is named in the release",
            "return tuple(map(unprotected, blocks))",
            "return ()",
        ),
        Fault(
            "public-block-funded",
            "budget for a public block is refused",
            "if share.epsilon > 0 and block not in sensitive:",
            "if share.epsilon > 1 and block not in sensitive:",
        ),
        Fault(
            "block-entries-of-b-for-A",
            "the paper's support for A counts m·n entries",
            'num_entries=m * n if block == "A" else m,',
            "num_entries=m,",
        ),
        Fault(
            "entrywise-assumptions-unchecked",
            "assumptions of Algorithm 1 are checked before data is read",
            "target.check_robust_feasibility()",
            "pass",
        ),
        Fault(
            "entrywise-boundedness-unchecked",
            "assumptions of Algorithm 1 are checked before data is read",
            "target.check_boundedness(any_objective=True)",
            "pass",
        ),
    ),
    *in_file(
        "dp_cmdp/noise/movement.py",
        (MOVEMENT, PRIVATIZER),
        Fault(
            "movement-without-rounding",
            "an entry of a block moves by the rounding of both evaluations too",
            "np.concatenate([np.abs(part.coefficient), np.full(keys.size, 2.0)]),",
            "np.concatenate([np.abs(part.coefficient), np.full(keys.size, 0.0)]),",
        ),
        Fault(
            "movement-signed",
            "terms of one record at one place add up whatever their signs",
            "np.concatenate([np.abs(part.coefficient), np.full(keys.size, 2.0)]),",
            "np.concatenate([part.coefficient, np.full(keys.size, 2.0)]),",
        ),
        Fault(
            "movement-total-rounded-to-nearest",
            "sums of radii are rounded up",
            "return float(exact.row_sums_up(self.record, [self.amount], num_rows=size).max())",
            "return float(exact.row_sums(self.record, [self.amount], num_rows=size).max())",
        ),
        Fault(
            "movement-of-one-number",
            "a record's numbers move together",
            "np.add.at(whole, self.record, moved)",
            "np.maximum.at(whole, self.record, moved)",
        ),
        Fault(
            "movement-not-compared",
            "a plan is refused when its certificate does not cover what moves",
            "if each > proof.steps or whole > proof.entries * proof.steps:",
            "if each > proof.steps and whole > proof.entries * proof.steps:",
        ),
        Fault(
            "table-for-several-numbers",
            "optimal noise is refused where several numbers move",
            'if proof.law == "table" and not alone:',
            'if proof.law == "table" and whole == 0:',
            "several moving numbers move more than the steps that a table covers in all (its entries "
            "are 1), which the comparison above has refused already",
        ),
    ),
    *in_file(
        "dp_cmdp/program/entrywise.py",
        (PRIVATIZER, FEASIBILITY, PARAMETRIC),
        Fault(
            "entry-values-without-constants",
            "the entries released are those of the program",
            "found[block] = part.base(row, col) + moved",
            "found[block] = moved",
        ),
        Fault(
            "entry-constants-kept",
            "an entry of the entrywise program is the released number alone",
            "return Affine(part.shape, constant=part.filled(0.0), at=at, entry=own)",
            "return Affine(part.shape, constant=part.constant, at=at, entry=own)",
        ),
    ),
    *in_file(
        "dp_cmdp/data/envelope.py",
        (PROMISES, DATABASE, PRIVATIZER),
        Fault(
            "radius-rounded-down",
            "the default radius covers the whole range",
            "return np.where(error > 0.0, np.nextafter(width, np.inf), width)",
            "return width",
        ),
        Fault(
            "record-size-mean",
            "the record size is that of the largest record",
            "return int(np.unique(self.records, return_counts=True)[1].max())",
            "return int(np.unique(self.records, return_counts=True)[1].mean())",
        ),
        Fault(
            "joined-records-collide",
            "records of joined groups stay apart",
            "owners = [part.records + shift for part, shift in zip(parts, offsets, strict=True)]",
            "owners = [part.records for part, shift in zip(parts, offsets, strict=True)]",
        ),
        Fault(
            "envelope-contains-one-side",
            "a value outside the public bounds is refused",
            "return bool(((self.lower <= flat) & (flat <= self.upper)).all())",
            "return bool((flat <= self.upper).all())",
        ),
        Fault(
            "radius-beyond-the-range",
            "a radius is at most the range",
            "if wide.any():",
            "if (radius > 2 * (upper - lower)).any():",
        ),
    ),
    *in_file(
        "dp_cmdp/accounting/budget.py",
        (PROMISES, PRIVACY, PRIVATIZER),
        Fault(
            "delta-not-shared",
            "A and b share δ",
            "delta=budget.delta / len(bounded) if block in bounded else Fraction(0),",
            "delta=budget.delta if block in bounded else Fraction(0),",
        ),
        Fault(
            "shares-not-rescaled",
            "shares of ε sum to ε exactly",
            "epsilon=alpha[block] / total * budget.epsilon,",
            "epsilon=alpha[block] * budget.epsilon,",
        ),
        Fault(
            "alphas-above-one",
            "shares that sum to more than 1 are refused",
            "if abs(total - 1) > Fraction(1, 10**9):",
            "if 1 - total > Fraction(1, 10**9):",
        ),
        Fault(
            "alphas-negative",
            "a negative share is refused",
            "if any(value < 0 for value in alpha.values()):",
            "if all(value < 0 for value in alpha.values()):",
        ),
        Fault(
            "loss-shown-rounded-down",
            "a loss is never shown too small",
            "return _shown(value, math.ceil)",
            "return _shown(value, math.floor)",
        ),
        Fault(
            "loss-shown-after-a-rounded-logarithm",
            "a loss is never shown too small",
            "exponent += value >= Fraction(10) ** (exponent + 1)  # the logarithms may round down",
            "pass",
        ),
        Fault(
            "floats-by-their-bits",
            "a budget of 0.1 is one tenth",
            "return _fraction(name, _written(value))",
            "return Fraction(value)",
        ),
        Fault(
            "epsilon-zero-accepted",
            "ε is positive",
            "if eps <= 0:",
            "if eps < 0:",
            "what is 0 is below 1e-300, which the loop over both numbers refuses with the same error",
        ),
        Fault(
            "delta-above-half-accepted",
            "δ above 1/2 is refused",
            "if not 0 < dlt <= HALF:",
            "if not 0 < dlt <= 1:",
        ),
    ),
)
