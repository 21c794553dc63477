"""Faults in the laws of noise: digits, certificates, draws."""

# ruff: noqa: E501  (lines of the package are quoted as they stand, under more indentation)

from tests.mutants.fault import Fault, in_file

FORGED = "tests/unit/noise/test_forged_certificates.py"
CHOSEN = "tests/unit/noise/test_chosen_randomness.py"
SAMPLING = "tests/unit/noise/test_sampling.py"
OPTIMAL = "tests/unit/noise/test_optimal.py"
DRAWS = "tests/statistical/test_sampling.py"

FAULTS = (
    *in_file(
        "dp_cmdp/noise/digits.py",
        (FORGED, SAMPLING, DRAWS),
        Fault(
            "exp-terms-rounded-up",
            "every bound of e^x that enters a proof is a lower one",
            "total += term",
            "total += term + 1",
        ),
        Fault(
            "exp-one-term-more",
            "every bound of e^x that enters a proof is a lower one",
            "return Fraction(total, 1 << bits)",
            "return Fraction(total + 1, 1 << bits)",
        ),
        Fault(
            "threshold-rounded-down",
            "no unit step of the law falls by more than the proved ratio",
            "threshold = -(-ONE * part // whole)",
            "threshold = ONE * part // whole",
        ),
        Fault(
            "steps-may-rise",
            "a certified law falls away from 0",
            "if up > down or up * ratio.numerator < down * ratio.denominator:",
            "if up * ratio.numerator < down * ratio.denominator:",
        ),
        Fault(
            "steps-may-fall-fast",
            "a certified law falls by no more than its ratio",
            "if up > down or up * ratio.numerator < down * ratio.denominator:",
            "if up > down:",
        ),
        Fault(
            "continuation-unbounded",
            "the step into the next block of the plain law is bounded too",
            "return least <= threshold * zeros * ratio.numerator and threshold * zeros <= ONE * ones",
            "return threshold * zeros <= ONE * ones",
        ),
        Fault(
            "continuation-may-rise",
            "the plain law falls from block to block",
            "return least <= threshold * zeros * ratio.numerator and threshold * zeros <= ONE * ones",
            "return least <= threshold * zeros * ratio.numerator",
        ),
        Fault(
            "coin-ignores-its-tail",
            "a coin has its exact probability, to 256 bits",
            'heads[tie] = int.from_bytes(random_bytes(source, TAIL // 8), "little") < tail',
            "heads[tie] = False",
        ),
        Fault(
            "coin-heads-too-often",
            "a coin has its exact probability",
            "heads = words < head",
            "heads = words <= head",
            "a word equal to the head is a tie, and the loop below overwrites every tie",
        ),
        Fault(
            "zero-drawn-twice",
            "the law of a signed draw is the certified one at 0",
            "kept = ~(negative & (magnitude == 0))",
            "kept = np.ones(magnitude.size, dtype=bool)",
        ),
        Fault(
            "sign-always-positive",
            "noise is symmetric",
            "return np.where(negative, -magnitude, magnitude)[kept]",
            "return magnitude[kept]",
        ),
        Fault(
            "support-not-kept",
            "draws beyond the support are thrown away",
            "kept &= keep",
            "kept |= keep",
        ),
    ),
    *in_file(
        "dp_cmdp/noise/certificate.py",
        (FORGED, SAMPLING, "tests/property/test_sampling.py", OPTIMAL),
        Fault(
            "outer-mass-one-point-short",
            "δ counts every point that a shift can push out of the support",
            "outer = inside - weight_below(thresholds, support + 1 - steps)",
            "outer = inside - weight_below(thresholds, support + 2 - steps)",
        ),
        Fault(
            "outer-mass-of-one-entry",
            "δ counts all entries that move together",
            "top, bottom = outer * entries.numerator, whole * entries.denominator",
            "top, bottom = outer, whole",
        ),
        Fault(
            "outer-mass-halved",
            "mass is compared with the whole law, 0 counted once",
            "whole = 2 * inside - weight_below(thresholds, 1)",
            "whole = 4 * inside - weight_below(thresholds, 1)",
        ),
        Fault(
            "outer-mass-zero-twice",
            "mass is compared with the whole law, 0 counted once",
            "whole = 2 * inside - weight_below(thresholds, 1)",
            "whole = 2 * inside",
        ),
        Fault(
            "outer-mass-rounded-down",
            "the δ of a certificate is rounded up",
            "return Fraction(-(-(top << PRECISION) // bottom), ONE)",
            "return Fraction((top << PRECISION) // bottom, ONE)",
        ),
        Fault(
            "certificate-believes-its-mass",
            "a certificate is recomputed, not believed",
            "and mass <= self.outer_mass <= self.delta",
            "and self.outer_mass <= self.delta",
        ),
        Fault(
            "certificate-delta-unchecked",
            "the mass proved is at most the δ claimed",
            "and mass <= self.outer_mass <= self.delta",
            "and mass <= self.outer_mass",
        ),
        Fault(
            "certificate-support-shorter-than-steps",
            "the proof needs a support of at least the steps data can move",
            "if support is None or not self.steps <= support <= LARGEST or support >> digits:",
            "if support is None or not support <= LARGEST or support >> digits:",
        ),
        Fault(
            "certificate-support-beyond-digits",
            "the support is one that the digits can reach",
            "if support is None or not self.steps <= support <= LARGEST or support >> digits:",
            "if support is None or not self.steps <= support <= LARGEST:",
        ),
        Fault(
            "plain-certificate-spends-delta",
            "plain Laplace noise spends no δ",
            "and self.outer_mass == 0",
            "and self.outer_mass >= 0",
        ),
        Fault(
            "table-shifts-rounded-down",
            "every shift up to the steps is compared, whole cells rounded up",
            "shifts = -(-self.steps // self.cell)",
            "shifts = self.steps // self.cell",
        ),
        Fault(
            "table-of-several-entries",
            "a table proves privacy of one moving entry only",
            "self.entries == 1",
            "self.entries >= 1",
        ),
        Fault(
            "table-negative-weights",
            "weights of a law are not negative",
            "and min(self.thresholds) >= 0",
            "and max(self.thresholds) >= 0",
        ),
        Fault(
            "table-weights-need-not-sum-to-one",
            "a law sums to one",
            "and sum(self.thresholds) == ONE",
            "and sum(self.thresholds) <= ONE",
        ),
    ),
    *in_file(
        "dp_cmdp/noise/truncated.py",
        (FORGED, CHOSEN, SAMPLING, DRAWS),
        Fault(
            "truncated-law-unproved",
            "a law is built from a certificate that checks",
            'if proof.law != "truncated-laplace" or proof.support is None or not proof.check():',
            'if proof.law != "truncated-laplace" or proof.support is None:',
        ),
        Fault(
            "truncated-epsilon-not-shared",
            "entries that move together share ε",
            "ratio = exp_lower(eps / (moved * steps))",
            "ratio = exp_lower(eps / steps)",
        ),
        Fault(
            "truncated-support-not-least",
            "the support is the shortest one that is private",
            "support = _least(lambda s: spent(s) <= dlt, start=max(steps, round(guess)), low=steps)",
            "support = _least(lambda s: spent(s) <= dlt / 2, start=max(steps, round(guess)), low=steps)",
        ),
        Fault(
            "truncated-draw-misses-the-edge",
            "draws fill the whole support: the law drawn is the law certified",
            "return draw_signs(magnitude, source, keep=magnitude <= self.support)",
            "return draw_signs(magnitude, source, keep=magnitude < self.support)",
        ),
        Fault(
            "truncated-shift-off-by-one",
            "shifts lie in {0, …, width}, so that intervals contain the value",
            "return self.sample(size, source=source) + self.support",
            "return self.sample(size, source=source) + self.support - 1",
        ),
    ),
    *in_file(
        "dp_cmdp/noise/laplace.py",
        (FORGED, CHOSEN, SAMPLING, DRAWS),
        Fault(
            "plain-ratio-of-one-step",
            "plain noise is scaled to the whole sensitivity",
            "ratio = exp_lower(eps / steps)",
            "ratio = exp_lower(eps / max(steps - 1, 1))",
        ),
        Fault(
            "plain-law-unproved",
            "a law is built from a certificate that checks",
            'if self.certificate.law != "laplace" or not self.certificate.check():',
            'if self.certificate.law != "laplace":',
        ),
        Fault(
            "plain-noise-clamped",
            "only the sum of data and plain noise is clamped, far out",
            "return np.clip(index + noise, -LARGEST, LARGEST)",
            "return index + np.clip(noise, -(1 << len(self.certificate.thresholds)), LARGEST)",
        ),
        Fault(
            "plain-law-never-continues",
            "plain noise reaches every integer",
            "reached = int(magnitude[lucky]) + (1 << len(digits))",
            "reached = int(magnitude[lucky])",
        ),
    ),
    *in_file(
        "dp_cmdp/noise/optimal.py",
        (FORGED, CHOSEN, OPTIMAL),
        Fault(
            "optimal-law-unproved",
            "a law is built from a certificate that checks",
            'if self.certificate.law != "table" or not self.certificate.check():',
            'if self.certificate.law != "table":',
        ),
        Fault(
            "optimal-solver-trusted",
            "the answer of the floating-point solver is not trusted",
            "if worst_hockey_stick(weights, shifts, exp_lower(epsilon)) <= delta:",
            "if worst_hockey_stick(weights, shifts, exp_lower(epsilon)) <= 2 * delta:",
        ),
        Fault(
            "optimal-cells-too-narrow",
            "the cells of a radius cover all of its steps",
            "cell = -(-steps // count)",
            "cell = max(1, steps // count)",
        ),
    ),
    *in_file(
        "dp_cmdp/noise/weight_table.py",
        (FORGED, OPTIMAL, DRAWS),
        Fault(
            "hockey-stick-one-way",
            "both directions of a shift are compared",
            "for sign in (-shift, shift):",
            "for sign in (-shift,):",
        ),
        Fault(
            "hockey-stick-wraps-around",
            "what leaves the table is counted as δ",
            "other = weights[j + sign] if 0 <= j + sign < size else 0",
            "other = weights[(j + sign) % size]",
        ),
        Fault(
            "hockey-stick-last-shift-skipped",
            "every shift up to the last is compared",
            "return max(hockey_stick(weights, shift, ratio) for shift in range(1, shifts + 1))",
            "return max(hockey_stick(weights, shift, ratio) for shift in range(1, max(shifts, 2)))",
        ),
        Fault(
            "table-draw-tie-ignored",
            "a draw of a cell has its exact probability, to 256 bits",
            "cells[tie] = sum(end <= point for end in ends)",
            "cells[tie] = cells[tie]",
        ),
        Fault(
            "table-uniform-biased",
            "draws inside a cell are exactly uniform",
            "while (again := np.flatnonzero(words > last)).size:",
            "while (again := np.flatnonzero(words > last)).size > size:",
        ),
    ),
)
