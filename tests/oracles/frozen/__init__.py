"""Verifier and writer of the release files of commit 2e23627, outside the package.

Copied from `dp_cmdp.verification`, `dp_cmdp.noise.certificate`, `dp_cmdp._documents` and what they
read, cut to releases of intervals and of linear queries with disjoint records: no labels, no
Algorithm 1, no leaks. It imports numpy and scipy only, and is deleted when the redesign
is done.
"""
