"""Faults in tables: labels, what is read by them, what errors and notebooks show."""

from tests.mutants.fault import Fault, in_file

LABELS = "tests/unit/data/test_labels.py"
IN = "tests/unit/data/test_from_frame.py"
RECORDS = "tests/unit/data/test_records.py"
PROMISED = "tests/promises/test_labels.py"
OUT = "tests/unit/data/test_to_frame.py"
FILES = "tests/unit/data/test_label_files.py"
HTML = "tests/unit/test_html.py"

FAULTS = (
    *in_file(
        "dp_cmdp/data/labels.py",
        (LABELS, IN, FILES),
        Fault(
            "labels-alike",
            "labels are distinct",
            "if len(set(found)) < len(found):",
            "if not found:",
        ),
        Fault(
            "rows-by-place",
            "rows are found by their labels",
            "place = np.asarray(found.get_indexer(wanted)) if found.is_unique else np.array([-1])",
            "place = np.arange(len(wanted))",
        ),
        Fault(
            "rows-there-twice",
            "a label that is there twice is refused in the same words",
            "if found.nlevels != wanted.nlevels or len(found) != len(wanted) or is_default(found):",
            "if found.nlevels != wanted.nlevels or is_default(found):",
        ),
        Fault(
            "row-numbers-are-labels",
            "the numbers that pandas gives rows are no labels",
            "return (index.start, index.step) == (0, 1)",
            "return (index.start, index.step) == (1, 1)",
        ),
        Fault(
            "levels-by-order",
            "levels with names are matched by their names",
            "found = cast(Any, found.set_names(given)).reorder_levels(own)",
            "found = found.copy()",
        ),
        Fault(
            "axis-of-another-name",
            "an axis with another name than its labels is refused",
            "there and (there != name if name else there in wanted)",
            "there and not name and there in wanted",
        ),
    ),
    *in_file(
        "dp_cmdp/data/records.py",
        (LABELS, IN, RECORDS),
        Fault(
            "records-of-groups-apart",
            "a level names one record in all groups",
            "return np.split(numbered(key for part in keys for key in part), cuts)",
            "return [numbered(part) for part in keys]",
        ),
        Fault(
            "every-key-its-own-record",
            "entries with one name belong to one record",
            "found = [numbers.setdefault(key, len(numbers)) for key in keys]",
            "found = list(range(len(keys)))",
        ),
        Fault(
            "names-of-groups-apart",
            "a name is one record in all groups",
            "return np.split(numbered(key for part in names for key in part.tolist()), cuts)",
            "return [numbered(part.tolist()) for part in names]",
        ),
        Fault(
            "record-named-by-identity",
            "names that equal nothing but themselves are refused",
            "if type(key).__eq__ is object.__eq__:",
            "if type(key).__eq__ is None:",
        ),
        Fault(
            "record-named-nan-inside",
            "NaN inside a tuple names no record",
            "return all(map(_equals_its_copy, key))",
            "return key == key",
        ),
        Fault(
            "tuples-guessed",
            "tuples that may be rows or names are refused",
            "if names.shape != shape and any(isinstance(name, tuple) for name in names.flat):",
            "if names.size == 0:",
        ),
    ),
    *in_file(
        "dp_cmdp/data/names.py",
        (PROMISED,),
        Fault(
            "names-of-two-kinds",
            "10 and the text 10 are not two records in silence",
            "if len(kinds) > 1:",
            "if False:",
        ),
        Fault(
            "whole-floats-apart",
            "10.0 is the name 10",
            "return int(number) if whole else number",
            "return number",
        ),
        Fault(
            "normal-forms-apart",
            "a text is one name in every normal form of Unicode",
            'return unicodedata.normalize("NFC", str.__str__(name)).strip()',
            "return str.__str__(name).strip()",
        ),
        Fault(
            "midnights-apart",
            "a date beside its midnight is refused",
            '("date", dt.date),',
            '("time", dt.date),',
        ),
    ),
    *in_file(
        "dp_cmdp/data/moments.py",
        (FILES, LABELS),
        Fault(
            "zone-opens-a-file",
            "no file is opened for the name of a zone",
            "if not _is_zone(zone):",
            "if not zone:",
        ),
        Fault(
            "zone-forgotten",
            "times keep their zone in a file",
            'return {"time": moment.tz_convert(None).isoformat(), "zone": str(moment.tz)}',
            'return {"time": moment.tz_convert(None).isoformat(), "zone": "UTC"}',
        ),
    ),
    *in_file(
        "dp_cmdp/data/from_frame.py",
        (IN,),
        Fault(
            "public-numbers-missing",
            "missing public numbers are named by their label",
            "if missing.any():",
            "if missing.all():",
        ),
        Fault(
            "record-missing",
            "every row has a record",
            "if table[name].isna().any():",
            "if table[name].isna().all():",
        ),
        Fault(
            "wide-facts-by-place",
            "tables of public facts are aligned by their labels",
            "return table.iloc[row, col]",
            "return table",
        ),
    ),
    *in_file(
        "dp_cmdp/data/private_frame.py",
        (IN,),
        Fault(
            "wide-transposed",
            "a table whose axes have the names the other way round is refused",
            "if set(labels.axes[axis].names) & set(filter(None, level_names(other))):",
            "if axis > 9:",
        ),
        Fault(
            "missing-column-quotes-others",
            "of a private table's columns none is named that the caller did not name",
            '"column=… if it has another name)"',
            'f"column=… if it has another name: {list(table.columns)})"',
        ),
        Fault(
            "private-labels-quoted",
            "of a private table's labels none is named",
            'form = "one row and one column for each label" if wide else "one row for each label"',
            'form = f"one row for each label (it has {list(table.index)})"',
        ),
    ),
    *in_file(
        "dp_cmdp/data/envelope.py",
        (LABELS, IN),
        Fault(
            "labels-do-not-count",
            "envelopes with other labels are others",
            "and self.labels == other.labels",
            "and len(self.labels) == len(other.labels)",
        ),
        Fault(
            "joined-labels-lost",
            "joined groups keep their labels",
            "tuple(part.labels[0] for part in parts),",
            "tuple(Labels() for part in parts),",
        ),
    ),
    *in_file(
        "dp_cmdp/data/release_file.py",
        (LABELS, FILES, OUT),
        Fault(
            "labels-in-the-old-format",
            "a file with labels says so by its format",
            "return Document(LABELLED if any(release.envelope.labels) else FORMAT, facts, arrays)",
            "return Document(FORMAT, facts, arrays)",
        ),
    ),
    *in_file(
        "dp_cmdp/data/release.py",
        (LABELS, FILES, OUT),
        Fault(
            "release-fits-other-labels",
            "a release of entries with other labels does not fit",
            "elif any(envelope.labels) and self._labels != envelope.labels:",
            "elif any(envelope.labels) and not envelope.groups:",
        ),
    ),
    *in_file(
        "dp_cmdp/data/to_frame.py",
        (OUT,),
        Fault(
            "public-bound-of-intervals",
            "a total is shown beside what the public bounds alone allow",
            '"public_bound": _largest(totals.W, *bounds),',
            '"public_bound": _largest(totals.W, release.lower, release.upper),',
        ),
        Fault(
            "largest-ignores-signs",
            "the largest total takes negative weights at the lower end",
            "return W.maximum(0) @ upper + W.minimum(0) @ lower",
            "return W @ upper",
        ),
        Fault(
            "saturated-at-one-end",
            "an interval is saturated when it says no more than the public bounds",
            'columns["saturated"] = (release.lower <= low) & (release.upper >= high)',
            'columns["saturated"] = (release.lower <= low) | (release.upper >= high)',
        ),
    ),
    *in_file(
        "dp_cmdp/data/html.py",
        (HTML,),
        Fault(
            "html-reads-values",
            "a notebook shows nothing of a database's values",
            'facts = [("values", "private"), ("identity", database.identity or "none")]',
            'facts = [("values", database.values), ("identity", database.identity or "none")]',
        ),
    ),
    *in_file(
        "dp_cmdp/_html.py",
        (HTML,),
        Fault(
            "html-not-escaped",
            "labels cannot write HTML",
            "return escape(text)",
            "return text",
        ),
    ),
)
