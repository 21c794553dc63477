"""Faults in the explorer: who may ask, what a press spends, what an error shows."""

from tests.mutants.fault import Fault, in_file

GUARD = "tests/unit/explorer/test_guard.py"
CUSTODY = "tests/unit/explorer/test_custody.py"

FAULTS = (
    *in_file(
        "dp_cmdp/explorer/guard.py",
        (GUARD,),
        Fault(
            "explorer-any-host",
            "the page answers to its own name only",
            "if hosts != [self._host]:",
            "if not hosts:",
        ),
        Fault(
            "explorer-any-origin",
            "what another page asks is refused",
            'if any(origin != f"http://{self._host}" for origin in origins):',
            "if len(origins) > 1:",
        ),
        Fault(
            "explorer-silent-socket",
            "a socket says which page opens it",
            'if scope["type"] == "websocket" and len(origins) != 1:',
            'if scope["type"] == "websocket" and len(origins) > 1:',
        ),
        Fault(
            "explorer-may-be-framed",
            "no answer may be shown in a frame of another page",
            'message = {**message, "headers": [*own, *HEADERS]}',
            'message = {**message, "headers": own}',
        ),
        Fault(
            "explorer-any-key",
            "the page opens for who has the key",
            'if not self._has_key(scope["path"]):',
            'if scope["path"].count("/") < 2:',
        ),
    ),
    *in_file(
        "dp_cmdp/explorer/sources.py",
        (CUSTODY,),
        Fault(
            "explorer-reads-before-the-debit",
            "the debit comes before the first read",
            "return Database.deferred(lambda: unread.values, unread.envelope, identity=identity)",
            "return Database(unread.values, unread.envelope, identity=identity)",
        ),
    ),
    *in_file(
        "dp_cmdp/explorer/custody.py",
        (CUSTODY,),
        Fault(
            "explorer-keeps-nothing-early",
            "a release is on a disk before it is answered from",
            "folder = fresh_folder(self._name(release))",
            "raise OSError",
            tests=("tests/promises/test_paid_releases.py",),
        ),
        Fault(
            "explorer-loses-what-was-paid",
            "a release that was paid for is kept",
            "self.made.append(made)  # before the disk is asked again: it is paid for",
            "pass",
        ),
    ),
    *in_file(
        "dp_cmdp/explorer/words.py",
        (CUSTODY,),
        Fault(
            "explorer-quotes-foreign-errors",
            "of foreign errors only the kind is said",
            'return f"{UNEXPECTED} ({type(error).__name__})"',
            'return f"{UNEXPECTED} ({error!r})"',
        ),
    ),
)
