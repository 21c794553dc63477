"""Audit mechanisms that claim differential privacy: your own, and those shipped."""

from dp_cmdp._src.checking.audit.mechanism import audit as audit
from dp_cmdp._src.verbs.suite import audit_release as audit_release

__all__ = ["audit", "audit_release"]
