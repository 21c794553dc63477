"""Whether mechanisms keep their promise: proofs again, worst cases, coupling and statistics."""
