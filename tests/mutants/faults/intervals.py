"""Faults in noisy intervals: lattice, supports, plans."""

# ruff: noqa: E501  (lines of the package are quoted as they stand, under more indentation)

from tests.mutants.fault import Fault, in_file

PROMISES = "tests/unit/release/test_promises.py"
CHOSEN = "tests/unit/noise/test_chosen_noise.py"
BYTES = "tests/unit/noise/test_chosen_randomness.py"
LATTICE = "tests/unit/noise/test_lattice.py"
MECHANISMS = "tests/unit/noise/test_laws.py"
PRIVATIZER = "tests/unit/release/test_privatizer.py"

FAULTS = (
    *in_file(
        "dp_cmdp/noise/lattice.py",
        (LATTICE, "tests/property/test_lattice.py", "tests/unit/noise/test_movement.py"),
        Fault(
            "lattice-moved-rounded-down",
            "the integers that an amount can move are rounded up",
            "return quotient.astype(np.int64) + (remainder > 0)",
            "return quotient.astype(np.int64)",
        ),
        Fault(
            "lattice-steps-one-short",
            "the lattice has as many steps per radius as it says",
            "return cls(_check.frozen(np.ldexp(radii, -bits)), 2**bits)",
            "return cls(_check.frozen(np.ldexp(radii, -bits)), 2**bits - 1)",
        ),
        Fault(
            "lattice-index-truncates",
            "the integer of a negative value is its floor",
            "return quotient.astype(np.int64) - (remainder < 0)",
            "return quotient.astype(np.int64)",
        ),
        Fault(
            "lattice-index-of-exact-multiples",
            "a multiple of the step is its own floor",
            "return quotient.astype(np.int64) - (remainder < 0)",
            "return quotient.astype(np.int64) - (remainder <= 0)",
        ),
        Fault(
            "lattice-floor-to-nearest",
            "the lower end of an interval is rounded down",
            "return np.where(error < 0, np.nextafter(product, -np.inf), product)",
            "return product",
        ),
        Fault(
            "lattice-ceil-to-nearest",
            "the upper end of an interval is rounded up",
            "return np.where(error > 0, np.nextafter(product, np.inf), product)",
            "return product",
        ),
        Fault(
            "lattice-too-fine",
            "the integers of a lattice fit where they are computed without error",
            "bits = min(bits, room)",
            "bits = max(bits, room)",
        ),
        Fault(
            "lattice-index-quotes-position",
            "an error about private values does not say which of them it is about",
            'data = _check.vector("values", values, size=self.step.size, private=True)',
            'data = _check.vector("values", values, size=self.step.size)',
        ),
        Fault(
            "lattice-radius-unchecked",
            "a radius too small for exact products is refused",
            "if not (np.all(radii >= SMALLEST) and np.all(radii <= GREATEST)):",
            "if not (np.all(radii > 0) and np.all(radii <= GREATEST)):",
        ),
    ),
    *in_file(
        "dp_cmdp/noise/laws.py",
        (MECHANISMS, PRIVATIZER),
        Fault(
            "float-support-delta-not-halved",
            "the tight support leaves δ outside, half of it in each tail",
            "factor, exponent = m / 2.0, eps / m",
            "factor, exponent = m / 4.0, eps / m",
        ),
        Fault(
            "float-support-of-one-entry",
            "the support counts all entries that move together",
            "factor, exponent = m / 2.0, eps / m",
            "factor, exponent = 0.5, eps / m",
        ),
        Fault(
            "float-support-counts-one-entry",
            "the paper's support counts every entry",
            'factor, exponent = float(_check.size("entries", entries, low=1)), eps',
            "factor, exponent = 1.0, eps",
        ),
        Fault(
            "float-draw-unclipped",
            "float draws stay in their support",
            "return np.clip(-np.sign(q) * self.scale * inner, -self.support, self.support)",
            "return -np.sign(q) * self.scale * inner",
            "ppf(0) and ppf(1) leave the support by one rounding at most, which the padding of the "
            "intervals of a simulation (three roundings) covers; exact noise does not come from here",
        ),
        Fault(
            "float-delta-above-half",
            "δ above 1/2 is refused",
            'if not 0 < dlt <= exact("half", "1/2"):',
            "if not 0 < dlt <= 1:",
        ),
    ),
    *in_file(
        "dp_cmdp/noise/plans.py",
        (
            PROMISES,
            PRIVATIZER,
            CHOSEN,
            BYTES,
            "tests/unit/noise/test_movement.py",
            "tests/property/test_feasibility.py",
        ),
        Fault(
            "interval-top-not-raised",
            "an interval contains its value whatever the noise was",
            "upper=self.lattice.ceil(top + 1),",
            "upper=self.lattice.ceil(top),",
        ),
        Fault(
            "interval-bottom-one-high",
            "an interval contains its value whatever the noise was",
            "lower=self.lattice.floor(top - width),",
            "lower=self.lattice.floor(top - width + 1),",
        ),
        Fault(
            "interval-bottom-not-rounded",
            "the ends of an interval are rounded outwards",
            "lower=self.lattice.floor(top - width),",
            "lower=self.lattice.ceil(top - width),",
        ),
        Fault(
            "interval-wrong-end-close",
            "optimal noise keeps the chosen end close",
            "top = self.lattice.index(values) + np.where(self.high, shift, width - shift)",
            "top = self.lattice.index(values) + np.where(self.high, width - shift, shift)",
        ),
        Fault(
            "interval-from-seeded-noise",
            "noise for real use comes from the operating system",
            "source = os.urandom if self.rng is None else self.rng.bytes",
            "source = np.random.default_rng(0).bytes if self.rng is None else self.rng.bytes",
            within="class LatticeBounded",
        ),
        Fault(
            "plain-noise-seeded",
            "noise for real use comes from the operating system",
            "source = os.urandom if self.rng is None else self.rng.bytes",
            "source = np.random.default_rng(0).bytes if self.rng is None else self.rng.bytes",
            within="class LatticeUnbounded",
        ),
        Fault(
            "interval-float-half-reach",
            "intervals of a simulation contain their values too",
            "reach = self.law.support * self.query.unit",
            "reach = 0.5 * self.law.support * self.query.unit",
        ),
        Fault(
            "interval-widened-one-side",
            "intervals make room for the rounding of what they enclose, on both sides",
            "low, high = self.lower - error, self.upper + error",
            "low, high = self.lower - error, self.upper - error",
        ),
        Fault(
            "interval-not-widened",
            "intervals make room for the rounding of what they enclose",
            "low, high = self.lower - error, self.upper + error",
            "low, high = self.lower, self.upper",
        ),
        Fault(
            "interval-not-clipped-below",
            "released intervals stay in the public bounds",
            "lower=np.clip(self.lower, lower, upper),",
            "lower=self.lower,",
        ),
        Fault(
            "interval-clipped-to-the-wrong-end",
            "cutting an interval to the public bounds keeps the value inside",
            "upper=np.clip(self.upper, lower, upper),",
            "upper=np.clip(self.upper, lower, lower),",
        ),
        Fault(
            "plan-together-forgotten",
            "noise is scaled to all entries that one record moves",
            "noise = _truncated(epsilon, share, lattice.steps, together)",
            "noise = _truncated(epsilon, share, lattice.steps, 1)",
        ),
        Fault(
            "plan-float-together-forgotten",
            "noise is scaled to all entries that one record moves",
            "float(together),",
            "1.0,",
        ),
        Fault(
            "plan-counts-one-number",
            "noise covers all numbers that one record moves, rounding included",
            "return replace(lattice, steps=max(each, -(-whole // self.together)))",
            "return replace(lattice, steps=each)",
        ),
        Fault(
            "plan-total-rounded-down",
            "the steps per entry cover the total, rounded up",
            "return replace(lattice, steps=max(each, -(-whole // self.together)))",
            "return replace(lattice, steps=max(each, whole // self.together))",
            "`together` divides the total: entries of a database all move 2^bits steps, and it is 1 "
            "for a block; the certificate is compared with the count afterwards all the same",
        ),
        Fault(
            "plan-record-size-forgotten",
            "a database release protects whole records",
            "together=envelope.largest_record,",
            "together=1,",
        ),
        Fault(
            "plan-paper-delta-not-divided",
            "the paper's support counts all entries",
            'share = delta / (2 * entries) if calibration == "paper" else delta',
            'share = delta / 2 if calibration == "paper" else delta',
        ),
        Fault(
            "plan-too-wide-accepted",
            "noise too wide for exact arithmetic is refused before data is read",
            "if reach >= FLOAT_LIMIT:",
            "if reach >= FLOAT_LIMIT**2:",
        ),
        Fault(
            "plan-plain-fewer-steps",
            "plain noise is scaled to every certified step",
            "noise = LatticeLaplace.calibrate(epsilon, steps=lattice.steps)",
            "noise = LatticeLaplace.calibrate(epsilon, steps=max(1, lattice.steps // 2))",
        ),
        Fault(
            "certificate-not-published",
            "a release carries the certificate of its noise",
            "certificate=json.loads(law.certificate.to_json()),",
            "certificate=None,",
        ),
    ),
)
