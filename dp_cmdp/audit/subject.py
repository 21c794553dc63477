"""A mechanism to be audited, with all that its four layers need, and the audit itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import Number, PrivacyBudget
from dp_cmdp.audit.layers.black_box import black_box
from dp_cmdp.audit.layers.certificates import certify
from dp_cmdp.audit.layers.coupling import Coupling, coupling
from dp_cmdp.audit.layers.noise_law import LawFacts, law_facts, noise_law
from dp_cmdp.audit.outcomes import Mechanism, Sampler, checked_pair, repeated
from dp_cmdp.audit.report import FALSE_ALARM, MethodAudit, Verdict
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.certificate import NoiseCertificate

#: Seeds per coupling: noise that moves with the data does so at every seed.
COUPLED_SEEDS = 5
#: Draws for the noise law.
DRAWS = 20_000
#: Runs of one audit at most, a number: their outcomes are kept in memory.
MOST_RUNS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """What is audited.

    Attributes
    ----------
    name : str
    epsilon, delta : Fraction
        The claim.
    sample : Sampler
    certificates : tuple of NoiseCertificate
    couplings : tuple of Coupling
    noise : callable, optional
        ``noise(size, rng)``: draws that should follow the law of `facts`.
    facts : LawFacts, optional
    representation : bool
        Whether the bits of floats are looked at; False for simulations in floats.
    least_runs, most_runs : int
        Runs of the black box, whatever is asked for: many where they are cheap, few where slow.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dp_cmdp.audit.outcomes import Outcomes
    >>> from dp_cmdp.audit.subject import Subject, audit_subject
    >>> def sample(runs, rng):
    ...     noise = rng.laplace(scale=1.0, size=(2, runs, 1))
    ...     return Outcomes.of(noise[0]), Outcomes.of(1 + noise[1])  # the data are 0, or 1
    >>> subject = Subject("mine", Fraction(1), Fraction(1, 1000), sample, representation=False)
    >>> audit_subject(subject, rng=np.random.default_rng(0), runs=2000).passed
    True
    """

    name: str
    epsilon: Fraction
    delta: Fraction
    sample: Sampler
    certificates: tuple[NoiseCertificate, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    noise: Callable[[int, np.random.Generator], FloatArray] | None = None
    facts: LawFacts | None = None
    representation: bool = True
    least_runs: int = 0
    most_runs: int = MOST_RUNS


@door
def audit_subject(
    subject: Subject, *, rng: np.random.Generator, runs: int, draws: int = DRAWS
) -> MethodAudit:
    """All four layers; each sampling layer gets half of the false-alarm probability.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dp_cmdp.audit.outcomes import Outcomes
    >>> from dp_cmdp.audit.subject import Subject, audit_subject
    >>> def sample(runs, rng):
    ...     noise = rng.laplace(scale=0.2, size=(2, runs, 1))  # 1 would be right
    ...     return Outcomes.of(noise[0]), Outcomes.of(1 + noise[1])  # the data are 0, or 1
    >>> subject = Subject("mine", Fraction(1), Fraction(1, 1000), sample, representation=False)
    >>> audit_subject(subject, rng=np.random.default_rng(0), runs=2000).objecting
    ('black_box',)
    """
    runs = _check.integer("runs", runs, low=1, high=MOST_RUNS)
    draws = _check.size("draws", draws, low=1)
    seed = int(rng.integers(2**31))
    box, bound = black_box(
        subject.sample,
        epsilon=float(subject.epsilon),
        delta=float(subject.delta),
        runs=min(max(runs, subject.least_runs), subject.most_runs),
        rng=rng,
        alpha=FALSE_ALARM / 2,
        representation=subject.representation,
    )
    proofs = certify(subject.certificates, epsilon=subject.epsilon, delta=subject.delta)
    moved = coupling(subject.couplings, seeds=COUPLED_SEEDS, seed=seed)
    return MethodAudit(
        name=subject.name,
        epsilon=subject.epsilon,
        delta=subject.delta,
        epsilon_lower_bound=bound,
        layers={
            "certificate": proofs,
            "coupling": moved,
            "noise_law": _judge_noise(subject, draws, rng),
            "black_box": box,
        },
    )


def _judge_noise(subject: Subject, draws: int, rng: np.random.Generator) -> Verdict:
    if subject.noise is None or subject.facts is None:
        return Verdict(None, "does not apply: the law of the noise was not stated")
    try:
        drawn = subject.noise(draws, rng)
    except Exception as error:
        return Verdict(False, f"raises {type(error).__name__} instead of drawing noise")
    return noise_law(drawn, subject.facts, alpha=FALSE_ALARM / 2)


@door
def audit(
    mechanism: Mechanism,
    pair: tuple[ArrayLike, ArrayLike],
    *,
    epsilon: Number,
    delta: Number,
    rng: np.random.Generator,
    runs: int = 10_000,
    additive: bool = False,
    law: Any = None,
    certificates: tuple[NoiseCertificate, ...] = (),
    sampler: Sampler | None = None,
    representation: bool = True,
    name: str = "mechanism",
) -> MethodAudit:
    """Audit any mechanism that claims (ε, δ)-differential privacy.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(values, rng)`` returns a vector. What it raises is an output too, but a
        mechanism that raises in every run is accused (if that tells the databases apart) or
        refused.
    pair : (array_like, array_like)
        A database and a neighbour of it: two vectors that the claim says must look alike. Choose
        the pair that you fear most: values at the ends of their range, zeros, ties.
    epsilon, delta : number
        The claim.
    rng : numpy.random.Generator
    runs : int
        Training runs and held-out runs, on each database: four times this many in all.
    additive : bool
        The output is the data plus noise: also run the coupling layer.
    law : Laplace, TruncatedLaplace or one of the lattice laws, optional
        The law the noise claims to follow (needs `additive`): also run the noise law layer.
    certificates : tuple of NoiseCertificate
        Exact proofs, when there are some.
    sampler : callable, optional
        ``sampler(runs, rng)`` returning two :class:`Outcomes`: a faster way to run `mechanism`.
    representation : bool
        Look for leaks in the bits of floats. Switch off for simulations only.
    name : str

    Returns
    -------
    MethodAudit
        ``passed`` is False for a private mechanism with probability at most 1e-6.

    Notes
    -----
    A pass proves nothing beyond the certificate layer; an objection is evidence.
    **Paper.** ``def:dp``. **Privacy.** *Curator only* when `pair` is real data; use invented data.

    Examples
    --------
    >>> import numpy as np
    >>> from dp_cmdp.audit.subject import audit
    >>> def too_little_noise(values, rng):
    ...     return values + rng.laplace(scale=0.2, size=values.shape)  # 1 would be right
    >>> rng = np.random.default_rng(0)
    >>> report = audit(
    ...     too_little_noise, ([0.0], [1.0]), epsilon=1, delta="1/1000", rng=rng, runs=2000
    ... )
    >>> report.passed, report.objecting
    (False, ('black_box',))
    """
    first, second = sides = checked_pair(pair)
    claim = PrivacyBudget(epsilon, delta)
    _check.integer("runs", runs, low=100, high=MOST_RUNS)
    for proof in certificates:
        _check.instance("a certificate", proof, NoiseCertificate)
    if law is not None and not additive:
        raise InvalidArgumentError("law needs additive=True: the noise is output minus data")

    def noise(size: int, source: np.random.Generator) -> FloatArray:
        rounds = -(-size // first.size)
        shown = [run(0, source) - first for _ in range(rounds)]
        return np.concatenate(shown)[:size]

    def run(side: int, source: np.random.Generator) -> FloatArray:
        return _check.array("mechanism(...)", mechanism(sides[side].copy(), source))

    subject = Subject(
        name=name,
        epsilon=claim.epsilon,
        delta=claim.delta,
        sample=repeated(mechanism, sides) if sampler is None else sampler,
        certificates=certificates,
        couplings=(Coupling("output", run, second - first),) if additive else (),
        noise=noise if law is not None else None,
        facts=None if law is None else law_facts(law),
        representation=representation,
    )
    return audit_subject(subject, rng=rng, runs=runs, draws=min(DRAWS, 2 * runs))
