"""Faults at the privacy boundary: databases, errors, marks, files."""

from tests.mutants.fault import Fault, in_file

BOUNDARY = "tests/unit/release/test_boundary.py"
DATABASE = "tests/unit/data/test_database.py"
ERRORS = "tests/property/test_private_errors.py"
CHECK = "tests/unit/test_check.py"
CLI = "tests/unit/cli/test_cli.py"

FAULTS = (
    *in_file(
        "dp_cmdp/data/database.py",
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
            '"values must lie within their public bounds; some do not (which ones is private "',
            'f"values must lie within their public bounds, got {flat} (which ones is private "',
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
            "return [values[name] for name in names] if found == set(names) else None",
            "return list(values.values()) if found == set(names) else None",
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
            tests=(CHECK, ERRORS, DATABASE, "tests/unit/noise/test_lattice.py"),
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
            tests=(CHECK, DATABASE, "tests/unit/program/test_linear_program.py"),
        ),
    ),
    *in_file(
        "dp_cmdp/_scalars.py",
        (CHECK,),
        Fault(
            "truth-values-are-numbers",
            "True is no number",
            'return isinstance(value, bool) or type(value).__name__ == "timedelta64"',
            'return type(value).__name__ == "timedelta64"',
        ),
        Fault(
            "flags-by-truth",
            'only True and False are flags: "no" publishes nothing',
            "if not isinstance(value, bool):",
            "if value is None:",
        ),
    ),
    *in_file(
        "dp_cmdp/data/curator.py",
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
            '_refuse(key, f"a key of {where}", depth=depth + 1)',
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
        "dp_cmdp/_storage.py",
        ("tests/unit/test_storage.py",),
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
    ),
)
