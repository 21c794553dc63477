"""Families of CMDPs: structures of every kind and size, with costs, limits and starts.

    model = Case("corridor", 10_000, gamma=0.999, costs=2, seed=100).build()
    model = Case.of("corridor/10000/0.999/2/tight/uniform/100").build()

Constants of a solver are chosen on the seeds :data:`CHOOSING`, its times reported on
:data:`REPORTING`.
"""

from benchmarks.families.case import (
    CHOOSING,
    FAMILIES,
    GAMMAS,
    LIMITS,
    REPORTING,
    STARTS,
    Case,
)

__all__ = ["CHOOSING", "FAMILIES", "GAMMAS", "LIMITS", "REPORTING", "STARTS", "Case"]
