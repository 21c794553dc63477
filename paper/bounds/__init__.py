"""What privacy costs in accuracy: bounds that hold, and the paper's theorem with its errata.

==================  ============================================================================
``accuracy``        certified bounds of the mean loss, and of any loss, for the curator
``instance``        what one release cost, from one strictly feasible point
``theorem``         the paper's ``thm:lp_accuracy_e``, printed and repaired
``hoffman``         the constant in it
==================  ============================================================================

The slips of the paper (its numbers, then what is right; each has a test in ``tests/paper``):

* dual: μᵀA ≤ cᵀ; Aᵀμ ≥ c. G in Lemma A.1: [−A 0; 0 Aᵀ; …]; [A 0; 0 −Aᵀ; −I 0; 0 −I].
* Λ: its denominator at the solution is 0; at a Slater point ω of the *private* program,
  min_j (b_j − A_j ω). b̂ is an inf, not a sup. χ is over feasible points, not optimal ones.
* ρ: cross terms are E|z| = σ, not 0; E[(Σy_b)²] = m·Var + m²s², not 2σ² + s²; E[(zᵀx̃)²] ≤
  χ²(n_c² + n_c)σ_c², not 2χ²n_cσ_c²; case (ii) has √(2n_c)σ_c, not 2σ_c; both cases hold always
  after the repair: take the smaller. Its order is ε^(−1), not ε^(−1/2).
* Theorem 4.3: P(R − E R ≤ diam·√(ln(1/t)/2)) ≥ 1 − t, not the reverse.
* Theorem 3.10 needs a robust point and boundedness; Assumption 3.6 is not enough: A(1) = [1 0],
  A(2) = [0 1], b = 1.5, public x₁, x₂ ≥ 1.
* "x ≥ 0 without loss of generality": shifting x makes b depend on A(D).
* CMDP: β_s·γ and β twice; β_s alone, the occupancy measure holds γ^t already. ξ = (v* − v)/|v*|.
* δ lies in (0, ½]: δ = 0 has no mechanism with bounded noise.
"""
