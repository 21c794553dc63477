"""Faults in public files: what they may hold, what they claim, what is verified of them."""

# ruff: noqa: E501  (lines of the package are quoted as they stand, under more indentation)

from tests.mutants.fault import Fault, in_file

DOCUMENTS = "tests/unit/test_documents.py"
VERIFICATION = "tests/unit/verification/test_verification.py"
FORGED = "tests/unit/verification/test_forged_claims.py"
DATABASE = "tests/unit/data/test_database.py"

FAULTS = (
    *in_file(
        "dp_cmdp/_documents.py",
        (DOCUMENTS, DATABASE),
        Fault(
            "file-unpickled",
            "nothing is unpickled",
            'TYPES = ("<f8", "<i8", "|u1")',
            'TYPES = ("<f8", "<i8", "|u1", "|O")',
        ),
        Fault(
            "format-unchecked",
            "a file of another kind is refused",
            "if said not in (format, labelled):",
            "if not said:",
        ),
        Fault(
            "digest-unchecked",
            "a careless edit does not fit the digest",
            'if found["digest"].tobytes().decode() != document.digest:',
            'if not found["digest"].tobytes().decode():',
        ),
        Fault(
            "digest-without-arrays",
            "the digest stands for every byte of every array",
            "whole.update(hashlib.sha256(array.tobytes()).digest())",
            "pass",
        ),
        Fault(
            "digest-without-shapes",
            "the digest stands for the shapes too",
            "whole.update(_canonical_json([name, array.dtype.str, list(array.shape)]))",
            "whole.update(_canonical_json([name, array.dtype.str]))",
        ),
        Fault(
            "unknown-members-accepted",
            "a file holds what it should and nothing else",
            "if missing or unknown:",
            "if missing:",
        ),
        Fault(
            "members-twice",
            "a member that stands twice is refused",
            'if any(not info.filename.endswith(".npy") for info in infos) or len(set(names)) < len(names):',
            'if any(not info.filename.endswith(".npy") for info in infos):',
        ),
        Fault(
            "bomb-unpacked",
            "a file that would unpack to far more than its size is refused",
            "return unpacked > max(FLOOR_BYTES, LARGEST_RATIO * packed)",
            "return unpacked > 1000 * max(FLOOR_BYTES, LARGEST_RATIO * packed)",
        ),
        Fault(
            "header-believed",
            "a header is compared with the bytes that are there",
            "if start + stated != info.file_size:",
            "if start + stated < info.file_size:",
        ),
        Fault(
            "content-not-written-again",
            "what is read is what would be written",
            "if made.document().digest != source.digest:",
            "if not made.document().digest:",
        ),
    ),
    *in_file(
        "dp_cmdp/verification/claims.py",
        (FORGED, VERIFICATION),
        Fault(
            "claims-unchecked",
            "a release whose claims do not follow is refused",
            "if not found.holds:",
            "if found.holds is None:",
        ),
        Fault(
            "claimed-record-size-believed",
            "the record size is that of the records",
            "release.guarantee.record_size == envelope.record_size,",
            "release.guarantee.record_size <= envelope.record_size,",
        ),
        Fault(
            "claimed-leaks-believed",
            "the leaks named are the blocks without noise",
            "set(release.leaks) - {REALISED_MASK} == leaked and all(release.leaks),",
            "set(release.leaks) - {REALISED_MASK} <= exposed and all(release.leaks),",
        ),
        Fault(
            "claimed-secure-without-certificate",
            "noise without a certificate is not secure",
            "noise.law == NO_NOISE or (noise.law in FLOAT_LAWS and not release.secure),",
            "noise.law == NO_NOISE or noise.law in FLOAT_LAWS,",
        ),
        Fault(
            "claimed-certificate-believed",
            "certificates are recomputed",
            "return certificate.law in CALIBRATIONS and certificate.check()",
            "return certificate.law in CALIBRATIONS",
        ),
        Fault(
            "claimed-epsilon-of-another-certificate",
            "a certificate is for the ε that its block spends",
            'proof.epsilon == noise.epsilon, f"block {noise.block}: its certificate is for another ε"',
            'proof.epsilon > 0, f"block {noise.block}: its certificate is for another ε"',
        ),
        Fault(
            "claimed-delta-of-another-certificate",
            "a certificate is for the δ that its block spends",
            'even if noise.calibration == "paper" else times == 1,',
            'even if noise.calibration == "paper" else times > 0,',
        ),
        Fault(
            "claimed-epsilon-smaller-than-spent",
            "the parts of a release add up to its guarantee",
            "epsilon == claimed.epsilon and (delta == claimed.delta or unspent),",
            "epsilon >= claimed.epsilon and (delta == claimed.delta or unspent),",
        ),
        Fault(
            "claimed-delta-smaller-than-spent",
            "the parts of a release add up to its guarantee",
            "epsilon == claimed.epsilon and (delta == claimed.delta or unspent),",
            "epsilon == claimed.epsilon and (delta >= claimed.delta or unspent),",
        ),
        Fault(
            "claimed-steps-believed",
            "no record moves more integers than are certified",
            "largest <= proof.steps and total <= proof.steps * proof.entries,",
            "largest <= proof.steps,",
        ),
        Fault(
            "claimed-radius-believed",
            "lattice and certificate belong to the radii",
            "or (made_for(envelope, release.step, proof) and total == proof.steps * proof.entries),",
            "or total <= proof.steps * proof.entries,",
        ),
        Fault(
            "claimed-table-for-records",
            "a table covers one moving entry",
            'proof.law != "table" or record_size == 1,',
            'proof.law != "table" or record_size >= 1,',
            "two entries of one record move 2·steps integers, and a table, whose entries are 1, "
            "covers steps: the check of the total above refuses the release already",
        ),
        Fault(
            "claimed-intervals-outside",
            "intervals lie in the envelope",
            "bool((lower <= release.lower).all() and (release.upper <= upper).all()),",
            "bool((lower <= release.lower).all()),",
        ),
        Fault(
            "claimed-numbers-off-the-lattice",
            "numbers that no draw gives are refused",
            "not off.any(),",
            "not off.all(),",
        ),
    ),
    *in_file(
        "dp_cmdp/verification/lattice.py",
        ("tests/unit/verification/test_lattice.py", VERIFICATION),
        Fault(
            "claimed-moves-rounded-down",
            "the integers that a position can move are rounded up",
            "moves[record].append(ceil((far + room[position]) / size[position]))",
            "moves[record].append(int((far + room[position]) / size[position]))",
        ),
        Fault(
            "claimed-moves-without-rounding",
            "positions move by the rounding of their sums too",
            "moves[record].append(ceil((far + room[position]) / size[position]))",
            "moves[record].append(ceil(far / size[position]))",
        ),
    ),
    *in_file(
        "dp_cmdp/verification/files.py",
        (FORGED, VERIFICATION),
        Fault(
            "verified-if-nothing-is-proved",
            "a failed claim fails the report",
            "return bool(self.findings) and all(found.holds is not False for found in self.findings)",
            "return bool(self.findings) and any(found.holds is not False for found in self.findings)",
        ),
        Fault(
            "verified-policy-of-another-release",
            "a policy is judged by its own release",
            "tightened = model.robust() if made is None else model.tightened(made)",
            "tightened = model.tightened(next(iter(shelf.releases.values()))) if made is None else model.tightened(made)",
        ),
        Fault(
            "verified-policy-by-word",
            "a policy's costs are bounded again",
            "holds = proof.verified or (small and verify_exact(tightened, file.policy))",
            "holds = proof.verified or small",
        ),
        Fault(
            "verified-with-a-foreign-release",
            "a release belongs to the program of the answer",
            "_check_belongs(made, program)",
            "pass",
        ),
    ),
    *in_file(
        "dp_cmdp/verification/solutions.py",
        (FORGED, "tests/unit/verification/test_solutions.py", VERIFICATION),
        Fault(
            "verified-solution-by-word",
            "a solution's rows are evaluated again",
            "worst >= 0,",
            "worst >= 0 or answer.certificate is not None,",
        ),
        Fault(
            "verified-solution-outside-its-bounds",
            "a solution lies in its bounds",
            "inside = bool(((program.lower <= answer.x) & (answer.x <= program.upper)).all())",
            "inside = bool((program.lower <= answer.x).all())",
        ),
    ),
)
