"""What a release claims, verified from the release alone, in integers and fractions.

Every record is moved by its worst, and the integers moved (:mod:`dp_cmdp.verification.lattice`) are
compared with those its noise is certified for: `steps` in one entry, `steps · entries` in all
(:mod:`dp_cmdp.noise.certificate`). What no file can prove is said too: :func:`privacy_claims`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dp_cmdp import _check
from dp_cmdp._documents import DAMAGE
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.certificate import NoiseCertificate
from dp_cmdp.verification.lattice import entry_moves, made_for, off_lattice, position_moves
from dp_cmdp.verification.parts import entry_bounds, envelope_of, parts_of, refuse_unless
from dp_cmdp.verification.totals import check_planned, check_totals_drawn, totals_moved

if TYPE_CHECKING:
    from dp_cmdp.data.release import Release

#: Laws that carry no certificate: simulations in floats, and no noise at all.
FLOAT_LAWS = ("truncated Laplace (float)", "Laplace (float)")
NO_NOISE = "none"
FLOAT_CALIBRATIONS = ("tight", "paper", "pure", "none")
#: Calibrations that each certified law may have.
CALIBRATIONS = {
    "truncated-laplace": ("tight", "paper"),
    "laplace": ("pure",),
    "table": ("optimal",),
}


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement about a file, and whether it follows from public files.

    Attributes
    ----------
    claim : str
    holds : bool or None
        None: no file can prove or disprove it.
    why : str
    declared : bool
        It holds by the file's own word: a file can deny it of itself, and not prove it.
    """

    claim: str
    holds: bool | None
    why: str
    declared: bool = False


def release_claims(release: Release) -> list[Claim]:
    """Every claim of a release that its content can prove, with the outcome.

    Notes
    -----
    **Privacy.** *Public*.
    """
    found = []
    for claim, prove in _CLAIMS.items():
        try:
            found.append(Claim(claim, True, prove(release)))
        except DAMAGE as error:
            own = isinstance(error, InvalidArgumentError)
            found.append(Claim(claim, False, str(error) if own else type(error).__name__))
    return found


def privacy_claims(release: Release) -> list[Claim]:
    """Whether the release is of the kind that is private at all, and what no file can prove."""
    leaks = ", ".join(release.leaks)
    chosen = Claim(
        "weights and scales of the totals, plan and guess were chosen without the data",
        None,
        "a file cannot show what was known when they were chosen",
    )
    return [
        Claim(
            "nothing is published unprotected",
            not release.leaks,
            f"it says that it leaks: {leaks}" if leaks else "it names no leak",
            declared=True,
        ),
        Claim(
            "the noise is exact",
            release.secure,
            "integers, drawn from the operating system by its own word"
            if release.secure
            else "secure is false: a simulation, not proved private",
            declared=True,
        ),
        Claim(
            "the noise was drawn from its law, once, with good randomness",
            None,
            "a file cannot show where its numbers came from",
        ),
        Claim(
            "the data lie in the envelope, and a label joins all that one person gave",
            None,
            "bounds, radius and records are the curator's word",
        ),
        *([chosen] if release.totals is not None else []),
        Claim("what it spent is in a ledger", None, _ledger(release)),
    ]


def check_claims(release: Release) -> None:
    """Raise unless every claim of a release follows from its content."""
    for found in release_claims(release):
        if not found.holds:
            raise InvalidArgumentError(f"it is not so that {found.claim}: {found.why}")


def _ledger(release: Release) -> str:
    entry = release.ledger
    if entry is None:
        return "it names no ledger: nothing adds up what is spent"
    return (
        f"it names entry {entry.index} of ledger {entry.ledger}; the ledger's keeper can run "
        f"dp-cmdp ledger verify FILE --pinned {entry.index}:{entry.hash}"
    )


def _whole(release: Release) -> str:
    from dp_cmdp.data.release import REALISED_MASK, unprotected

    envelope, parts = envelope_of(release), parts_of(release)
    refuse_unless(
        release.guarantee.record_size == envelope.record_size,
        f"records hold up to {envelope.record_size} entries, and it says "
        f"{release.guarantee.record_size}",
    )
    leaked = {unprotected(part.noise.block) for part in parts if part.noise.law == NO_NOISE}
    refuse_unless(
        set(release.leaks) - {REALISED_MASK} == leaked and all(release.leaks),
        "its leaks are not the blocks that have no noise",
    )
    refuse_unless(
        release.version.isprintable() and 0 < len(release.version) <= 100,
        "its version is no short text",
    )
    return f"{release.estimate.size} entries, {release.guarantee.adjacency}"


def _laws(release: Release) -> str:
    for part in parts_of(release):
        noise, proof = part.noise, part.certificate
        totals = release.totals if part.is_totals else None
        steps = release.step[part.span] if totals is None else totals.step
        if proof is None:
            refuse_unless(totals is None, "totals have noise with a certificate")
            refuse_unless(
                noise.law == NO_NOISE or (noise.law in FLOAT_LAWS and not release.secure),
                f"block {noise.block}: noise without a certificate is float noise, not secure",
            )
            refuse_unless(not steps.any(), f"block {noise.block}: float noise has no lattice")
            _check.one_of("calibration", noise.calibration, FLOAT_CALIBRATIONS)
            for size in (noise.scale, 0.0 if noise.support is None else noise.support):
                _check.real("scale and support", size, low=0.0)
            continue
        refuse_unless(proof.law == noise.law, f"block {noise.block}: its law is {proof.law}")
        refuse_unless(
            noise.calibration in CALIBRATIONS[proof.law],
            f"block {noise.block}: {proof.law} noise is not calibrated {noise.calibration!r}",
        )
        refuse_unless(
            release.secure or proof.law == "table" or part.is_totals,
            f"block {noise.block}: simulations do not draw {proof.law} noise on a lattice",
        )
        refuse_unless(proved(proof), f"block {noise.block}: its certificate proves nothing")
        refuse_unless(bool((steps > 0).all()), f"block {noise.block}: a lattice step is missing")
        scale, support = _stated(proof)
        refuse_unless(
            (noise.scale, noise.support) == (scale, support),
            f"block {noise.block}: scale and support follow from its certificate and differ",
        )
    if not release.noise:
        return "no noise: no data was used"
    words = {True: "no certificate", False: "certificate recomputed"}
    return "; ".join(
        f"{part.block}: {part.law}, {words[part.certificate is None]}" for part in release.noise
    )


@lru_cache(maxsize=64)
def proved(certificate: NoiseCertificate) -> bool:
    """Whether a certificate holds, recomputed once."""
    return certificate.law in CALIBRATIONS and certificate.check()


def _stated(proof: NoiseCertificate) -> tuple[float, float | None]:
    """Scale and support, in radii, as a release states them."""
    if proof.law == "laplace" or proof.support is None:
        return 1 / float(proof.epsilon), None
    width = proof.support * (2 if proof.law == "truncated-laplace" else 1)
    return float(proof.entries / proof.epsilon), width / 2 / float(proof.steps)


def _spent(release: Release) -> str:
    parts = parts_of(release)
    for part in parts:
        noise, proof = part.noise, part.certificate
        if noise.law == NO_NOISE:
            refuse_unless(noise.epsilon == noise.delta == 0, "a block without noise spends ε or δ")
        if proof is None:
            continue
        refuse_unless(
            proof.epsilon == noise.epsilon, f"block {noise.block}: its certificate is for another ε"
        )
        # the paper's support for k entries is the tight one for δ/(2k)
        times = noise.delta / proof.delta if proof.delta else Fraction(noise.delta == 0)
        even = times.denominator == 1 and times.numerator % 2 == 0 and times > 0
        refuse_unless(
            even if noise.calibration == "paper" else times == 1,
            f"block {noise.block}: its certificate is for another δ",
        )
    check_planned(release)
    epsilon = sum((part.noise.epsilon for part in parts), Fraction(0))
    delta = sum((part.noise.delta for part in parts), Fraction(0))
    claimed = release.guarantee
    unspent = bool(parts) and delta == 0  # untruncated noise needs no δ
    refuse_unless(
        epsilon == claimed.epsilon and (delta == claimed.delta or unspent),
        f"its parts spend ({epsilon}, {delta}), and it says ({claimed.epsilon}, {claimed.delta})",
    )
    return f"ε = {epsilon}, δ = {delta}, exactly"


def _moved(release: Release) -> str:
    """The integers that the worst record moves, against those certified."""
    envelope, said = envelope_of(release), []
    for part in parts_of(release):
        if part.certificate is None:
            continue
        if part.is_totals:
            said.append(totals_moved(release, part.certificate))
            continue
        proof, block = part.certificate, part.noise.block
        moves = (
            entry_moves(envelope, release.step)
            if part.affine is None
            else position_moves(envelope, part.affine, release.step[part.span])
        )
        largest = max(max(each) for each in moves.values())
        total = max(sum(each) for each in moves.values())
        record_size = max(len(each) for each in moves.values())
        refuse_unless(
            largest <= proof.steps and total <= proof.steps * proof.entries,
            f"block {block}: a record moves {largest} integers in one entry and {total} in all, "
            f"certified are {proof.steps} and {proof.steps * proof.entries}",
        )
        refuse_unless(
            part.affine is not None
            or (made_for(envelope, release.step, proof) and total == proof.steps * proof.entries),
            "the lattice and the certificate were made for other radii or records",
        )
        refuse_unless(
            proof.law != "table" or record_size == 1,
            f"block {block}: a table covers one entry, and a record moves {record_size}",
        )
        said.append(f"{block}: {total} of {proof.steps * proof.entries}")
    return "; ".join(said) or "nothing is certified"


def _inside(release: Release) -> str:
    lower, upper = entry_bounds(release)
    refuse_unless(
        bool((lower <= release.lower).all() and (release.upper <= upper).all()),
        "an interval leaves the public bounds",
    )
    if all(part.is_totals for part in parts_of(release)):
        middle = (lower + upper) / 2
        same = all(
            np.array_equal(*pair)
            for pair in (
                (release.lower, lower),
                (release.upper, upper),
                (release.estimate, middle),
            )
        )
        refuse_unless(
            same, "without noise in the entries the intervals must be the public bounds themselves"
        )
        guess = release.estimate if release.draws is None else release.draws
        refuse_unless(
            bool(((lower <= guess) & (guess <= upper)).all()), "its guess leaves the public bounds"
        )
    return f"{lower.size} of {lower.size}"


def _drawn(release: Release) -> str:
    from dp_cmdp.data.release import REALISED_MASK

    envelope = envelope_of(release)
    lower, upper = entry_bounds(release)
    drawn = release.estimate if release.draws is None else release.draws
    cut = np.clip(drawn, lower, upper) if release.method == "database" else drawn
    refuse_unless(
        not release.noise
        or all(part.is_totals for part in parts_of(release))
        or np.array_equal(cut, release.estimate),
        "its estimates are not its draws, cut to the public bounds",
    )
    checked = 0
    for part in parts_of(release):
        masked = REALISED_MASK in release.leaks and part.noise.block in ("A", "c")
        if part.certificate is None or masked:
            continue
        if part.is_totals:
            check_totals_drawn(release, part.certificate)
            continue
        span, affine = part.span, part.affine
        error = None if affine is None else affine.rounding(envelope.lower, envelope.upper)
        off = off_lattice(
            part.certificate,
            release.step[span],
            published=(drawn[span], release.lower[span], release.upper[span]),
            bounds=(lower[span], upper[span]),
            error=error,
        )
        refuse_unless(
            not off.any(),
            f"block {part.noise.block}: no draw of its noise gives entry {int(np.argmax(off))}",
        )
        checked += off.size
    said = f"{checked} of {release.estimate.size} entries"
    if release.totals is not None:
        said += f" and {len(release.totals)} totals"
    return f"{said}; other entries carry no lattice noise"


_CLAIMS = {
    "it carries all that its guarantee rests on": _whole,
    "its noise is what it says, certificates holding in fractions": _laws,
    "what its parts spend is what it says, in fractions": _spent,
    "no record moves more integers than are certified": _moved,
    "its intervals lie in the envelope": _inside,
    "its numbers are what such noise makes on the lattice": _drawn,
}
