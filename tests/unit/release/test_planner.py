"""Plans: chosen from public data, kept with the release, refused before anything is spent."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tqdm import tqdm

from dp_cmdp import (
    Affine,
    Database,
    Envelope,
    Plan,
    PrivacyBudget,
    PrivacyLedger,
    Release,
    choose_plan,
    release_and_solve,
    release_looks,
    release_planned,
    verify,
)
from dp_cmdp.advice.plans import advise_plans
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.data.totals import Totals
from dp_cmdp.errors import AssumptionError, InvalidArgumentError, SolverError
from dp_cmdp.problems.ad_auction import auction_program, random_prices
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release import solve as solving
from dp_cmdp.release.entries import harmful_sides, suited_noise
from dp_cmdp.release.looks import posterior_mean, propose_totals, public_release
from dp_cmdp.release.plan import DATABASE, MENU, SHORT_MENU
from dp_cmdp.release.planner import MANY_MEETINGS, Choice, Score, planned
from dp_cmdp.release.posterior import Posterior
from dp_cmdp.release.row_solver import INTERIOR_ROWS, RowSolver
from tests.problems import SpyDatabase, knapsack

BUDGET = PrivacyBudget(1, "1/1000")
#: A guess that leaves the public bounds of the large auction at its last entry.
OUTSIDE = np.append(np.zeros(299), 1.5)
BOUNDS = "guess must lie within the public bounds.*entry 299"


def auction(groups: int, *, radius: float = 0.1) -> tuple[ParametricLP, Database]:
    """Five advertisers who can buy a half of all visits."""
    envelope = Envelope(0.0, 1.0, radius=radius, shape=(groups, 5), name="prices")
    entry = envelope.index("prices")
    program = auction_program(
        envelope, private={"A": entry, "c": entry}, prices=np.zeros((groups, 5)), budget=groups / 10
    )
    prices = random_prices((groups, 5), np.random.default_rng(2))
    return program, Database({"prices": prices}, envelope, identity="auction")


@pytest.fixture(scope="module")
def large() -> tuple[ParametricLP, Database]:
    return auction(60)


def test_large_auctions_are_planned_with_totals_and_small_ones_without(large):
    assert choose_plan(large[0], BUDGET).plan.measures_totals
    assert choose_plan(auction(4)[0], PrivacyBudget("1/4", "1/1000")).plan == DATABASE


def test_a_choice_is_the_same_for_the_same_seed_and_names_every_plan_tried(large):
    first, again = (choose_plan(large[0], BUDGET, seed=3) for _ in range(2))
    assert first == again
    assert {score.plan for score in first.scores} == set(MENU)
    assert first.to_frame()["chosen"].sum() == 1


def test_planning_solves_eight_programs_over_totals_besides_second_passes():
    """One proposal a plan, two answers, then a proposal and an answer of the better plan."""
    program, solves = auction(60)[0], []
    own = RowSolver(most_rows=INTERIOR_ROWS)

    def counted(program, rows, objective):
        solves.append(rows.num_multipliers > 0)
        return own(program, rows, objective)

    choice = choose_plan(program, BUDGET, solver=counted)
    assert sorted(len(score.losses) for score in choice.scores) == [0, 0, 1, 2, 2]
    second_passes = 5
    assert sum(solves) == 8 + second_passes
    assert solves.count(False) == 5  # the robust answer; the best and the entries' in two trials


def test_no_totals_are_proposed_where_entries_lose_nothing():
    """A row that never binds: public trials of the entries alone decide."""
    program, solves = knapsack(6, radius=0.05, capacity=60.0, c=np.ones(6)), []
    own = RowSolver()

    def counted(program, rows, objective):
        solves.append(rows.num_multipliers)
        return own(program, rows, objective)

    choice = choose_plan(program, BUDGET, solver=counted)
    assert choice == Choice(DATABASE, (Score(DATABASE),))
    assert not any(solves)
    assert choose_plan(program, BUDGET, guard=None).plan.measures_totals


def test_the_guard_decides_between_the_database_and_totals(large):
    assert choose_plan(large[0], BUDGET, guard=0.0).plan == DATABASE
    assert choose_plan(auction(4)[0], BUDGET, guard=None).plan.measures_totals
    assert choose_plan(large[0], BUDGET, menu=[DATABASE]).plan == DATABASE


def test_one_trial_in_which_entries_lose_something_does_not_decide(monkeypatch):
    program = ParametricLP(
        Envelope(1, 2, radius=0.02, shape=2),
        c=[3, 2],
        A=Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1]),
        b=[8],
    )
    budget, menu = PrivacyBudget(1, "1/1000"), [DATABASE, Plan("1/2")]

    def chosen(losses: list[float], totals: float = 0.1) -> Plan:
        def lost(self, plan):
            return losses[self._number] * (totals if plan.measures_totals else 1.0)

        monkeypatch.setattr("dp_cmdp.release.planner.Trial.loss", lost)
        monkeypatch.setattr("dp_cmdp.release.planner.Trial.proposed_loss", lost)
        return choose_plan(program, budget, menu=menu).plan

    assert chosen([0.0, 0.0, 0.9]) == DATABASE
    assert chosen([0.0, 0.9, 0.9]) == menu[1]
    assert chosen([0.0, 0.0, 0.0]) == DATABASE
    assert chosen([0.5, 0.9, 0.9], totals=0.95) == DATABASE  # not clearly better


def test_a_short_choice_is_one_trial_without_answers_over_totals():
    short = choose_plan(auction(200)[0], BUDGET, menu=SHORT_MENU, short=True)
    assert [len(score.losses) for score in short.scores] == [1] + [0] * (len(SHORT_MENU) - 1)
    assert short.plan.measures_totals
    assert choose_plan(auction(4)[0], PrivacyBudget("1/4", "1/1000"), short=True).plan == DATABASE


def test_a_plan_that_finds_nothing_to_measure_is_not_taken():
    """It would be a database release with a part of the budget, whatever luck its trial had."""
    program, budget = auction(10, radius=1.0)[0], PrivacyBudget(2, "1/1000")
    for seed in range(4):
        choice = choose_plan(program, budget, seed=seed)
        unable = [score for score in choice.scores[1:] if score.proposed is None]
        assert unable
        assert not any(score.losses for score in unable)
        assert choice.plan not in [score.plan for score in unable]


def test_large_programs_are_planned_in_short():
    pairs = {groups: auction(groups)[0].uncertain_rows.entry.size for groups in (100, 200)}
    assert pairs[100] < MANY_MEETINGS <= pairs[200]
    for groups in pairs:
        scores = planned("auto", auction(groups)[0], BUDGET).scores
        assert (len(scores) == len(SHORT_MENU)) == (pairs[groups] >= MANY_MEETINGS)


def test_where_trials_cannot_be_solved_auto_is_the_database_release_and_totals_is_refused(large):
    def helpless(*_):
        raise SolverError("gave up")

    choice = planned("auto", large[0], BUDGET, solver=helpless)
    assert choice == Choice(DATABASE, ())
    with pytest.raises(SolverError):
        planned("totals", large[0], BUDGET, solver=helpless)


def test_a_bar_tells_of_planning_and_goes_to_the_error_stream(large, capsys, monkeypatch):
    at_once = {"delay": 0.0, "mininterval": 0.0, "disable": False}
    monkeypatch.setattr("tqdm.tqdm", lambda steps, **look: tqdm(steps, **(look | at_once)))
    choose_plan(large[0], BUDGET, progress=True)
    told = capsys.readouterr()
    assert "plans" in told.err
    assert told.out == ""


def test_one_verb_plans_looks_and_states_its_facts(large):
    program, database = large
    release, choice = release_planned(database, BUDGET, program=program)
    assert release.plan == choice.facts()
    assert release.totals is not None
    assert release.polytope.contains(database.values)


def hopeless(*, unbounded: bool) -> ParametricLP:
    """x ≥ 2 and Σθx ≤ 1 with θ up to 1: no x for every database; or x may grow without limit."""
    bounds: dict[str, Any] = {"upper": np.inf} if unbounded else {"lower": 2.0, "upper": 3.0}
    return ParametricLP(
        Envelope(0.0, 1.0, shape=2, radius=0.1),
        c=[1.0, 1.0],
        A=Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1]),
        b=[1.0],
        **bounds,
    )


@pytest.mark.parametrize("plan", ["auto", "database", "totals", Plan(1), Plan("0.5"), Plan(0)])
@pytest.mark.parametrize("unbounded", [False, True])
def test_for_a_program_that_has_no_private_answer_nothing_is_spent(tmp_path, plan, unbounded):
    program = hopeless(unbounded=unbounded)
    ledger = PrivacyLedger(tmp_path / "ledger.sqlite")
    ledger.create("people", PrivacyBudget(5, "1/10"), "one person")
    SpyDatabase.reads = 0
    database = SpyDatabase([0.5, 0.5], program.envelope, identity="people")
    SpyDatabase.reads = 0
    with pytest.raises(AssumptionError, match="No data was read"):
        release_planned(database, BUDGET, program=program, plan=plan, ledger=ledger)
    assert ledger.entries("people") == []
    assert SpyDatabase.reads == 0


@pytest.mark.parametrize("plan", ["auto", "database"])
def test_one_call_checks_a_program_once(monkeypatch, plan):
    checks: list[ParametricLP] = []
    own = ParametricLP.check_robust_feasibility
    monkeypatch.setattr(
        ParametricLP, "check_robust_feasibility", lambda self: (checks.append(self), own(self))
    )
    program, database = auction(4)
    release_and_solve(program, database, BUDGET, plan=plan)
    assert len(checks) == 1
    release_planned(database, BUDGET, program=program, plan=plan)
    assert len(checks) == 2


def listed(groups: int, *, records=None) -> tuple[ParametricLP, Database]:
    """An auction whose prices bind budgets only: its objective is public."""
    envelope = Envelope(0.0, 1.0, radius=0.1, shape=(groups, 5), name="prices", records=records)
    entry = np.arange(groups * 5).reshape(groups, 5)
    program = auction_program(
        envelope, private={"A": entry}, prices=np.full((groups, 5), 0.5), budget=groups / 10
    )
    return program, Database({"prices": np.full((groups, 5), 0.4)}, envelope)


def test_noise_is_optimal_by_default_where_one_end_matters_and_records_hold_one_entry(large):
    one = listed(6)
    pairs = listed(6, records=np.arange(30).reshape(6, 5) // 2)
    for (program, database), law in ((one, "table"), (pairs, None), (auction(6), None)):
        for plan in ("database", Plan(1)):
            release, _ = release_planned(database, BUDGET, program=program, plan=plan)
            proof = release.noise[0].certificate
            assert proof is not None
            assert (proof["law"] == "table") == (law == "table")
    weak, _ = release_planned(one[1], PrivacyBudget("1/16", "1/1000"), program=one[0], plan=Plan(1))
    assert weak.noise[0].certificate is not None
    assert weak.noise[0].certificate["law"] != "table"


@pytest.mark.parametrize("moved", [0.0, 1e-9])
def test_a_guess_at_the_middle_of_the_bounds_is_a_guess(moved):
    size = 40
    program = knapsack(size, radius=0.05, capacity=3.0, c=1 + np.arange(size) / size)
    budget = PrivacyBudget(2, "1/1000")
    seen = public_release(program.envelope, np.full(size, 0.5 + moved))
    guessed = propose_totals(program, seen, budget, plan=Plan(0))
    blind = propose_totals(program, public_release(program.envelope), budget, plan=Plan(0))
    assert guessed is not None
    assert blind is not None
    assert guessed.x.sum() < 0.9 * blind.x.sum()  # the prior believes in smaller entries


def test_a_plan_that_was_not_answered_is_ranked_by_its_proposal():
    scores = (
        Score(DATABASE, (0.2, 0.4)),
        Score(Plan(0), proposed=0.1),
        Score(Plan("1/2", caution=1.5), (0.1, 0.3), proposed=0.5),
    )
    frame = Choice(DATABASE, scores).to_frame()
    assert frame["loss"].tolist() == pytest.approx([0.3, np.nan, 0.2], nan_ok=True)
    assert frame["proposed"].tolist() == pytest.approx([np.nan, 0.1, 0.5], nan_ok=True)
    assert [score.predicted for score in scores] == pytest.approx([0.3, 0.1, 0.2])
    assert scores[1].rank[0] == pytest.approx(0.11)  # rests on the prior alone


def test_a_public_guess_moves_the_trials(large):
    program = large[0]
    near = choose_plan(program, BUDGET, guess=np.full(300, 0.4))
    assert near.scores != choose_plan(program, BUDGET).scores


@pytest.mark.parametrize("plan", ["auto", "totals", Plan("1/2", caution=2.0)])
def test_planned_answers_lose_less_than_the_database_release_and_violate_nothing(large, plan):
    program, database = large
    truth = program.at(database.values)
    lost = {}
    for way in ("database", plan):
        values = []
        for seed in range(4):
            rng = np.random.default_rng(seed)
            answer = release_and_solve(program, database, BUDGET, plan=way, rng=rng)
            assert answer.release.polytope.contains(database.values)
            assert (truth.slack(answer.solution.x) >= 0.0).all()
            assert answer.solution.objective >= answer.robust.objective
            values.append(float(truth.c @ answer.solution.x))
        lost[way] = np.mean(values)
    assert lost[plan] > lost["database"]


def test_the_plan_and_its_trials_are_kept_with_the_release(large, tmp_path):
    program, database = large
    answer = release_and_solve(program, database, BUDGET)
    assert answer.release.plan == answer.choice.facts()
    assert answer.release.secure
    read = Release.load(answer.release.save(tmp_path / "release.npz"))
    assert read.plan == answer.release.plan
    assert read.totals is not None
    assert answer.release.totals is not None
    np.testing.assert_array_equal(read.totals.q, answer.release.totals.q)


def test_the_database_plan_is_the_database_release_bit_for_bit(large):
    from dp_cmdp import release_database

    program, database = large
    answer = release_and_solve(
        program, database, BUDGET, plan="database", rng=np.random.default_rng(1)
    )
    plain = release_database(database, BUDGET, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(answer.release.lower, plain.lower)
    assert answer.release.totals is None


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ({"plan": "best"}, "plan must be one of"),
        ({"guess": [0.5, 0.5]}, "guess must have 300"),
        ({"plan": Plan(0), "guess": [0.5]}, "guess must have 300"),
        ({"plan": Plan("1/2"), "close": "inner"}, "close"),
        ({"plan": Plan("1/2"), "calibration": "best"}, "calibration"),
    ],
)
def test_a_refused_plan_spends_nothing(large, tmp_path, option, text):
    program, database = large
    ledger = PrivacyLedger(tmp_path / "ledger.sqlite")
    ledger.create("auction", BUDGET, "one person")
    with pytest.raises(InvalidArgumentError, match=text):
        release_and_solve(program, database, BUDGET, ledger=ledger, **option)
    assert ledger.spent("auction").epsilon == 0


@pytest.mark.parametrize("share", [-1, "11/10"])
def test_a_share_is_a_part_of_the_budget(share):
    with pytest.raises(InvalidArgumentError, match="share must lie in"):
        Plan(share)


def test_looks_spend_the_whole_budget_and_nothing_twice():
    first, second = Plan("0.35").budgets(BUDGET)
    assert first is not None
    assert second is not None
    assert first.epsilon + second.epsilon == BUDGET.epsilon
    assert first.delta + second.delta == BUDGET.delta
    assert Plan(0).budgets(BUDGET) == (None, BUDGET)
    assert DATABASE.budgets(BUDGET) == (BUDGET, None)


def test_the_close_end_is_the_one_that_tightens_a_row():
    from dp_cmdp.problems.ad_auction import ad_auction_program

    assert harmful_sides(ad_auction_program()) == {"prices": "upper", "budgets": "lower"}


def test_advice_on_plans_has_an_interval_for_every_plan_and_budget(large):
    advice = advise_plans(large[0], epsilons=[1, 4], draws=3)
    frame = advice.to_frame()
    assert len(frame) == 2 * len(MENU)
    assert (frame["ci_low"] <= frame["loss"]).all()
    assert (frame["loss"] <= frame["ci_high"]).all()
    assert (frame["trials"] == 3).all()


def test_beliefs_stay_in_their_intervals_and_follow_the_draws():
    box = Polytope(np.zeros(3), np.array([1.0, 1.0, 0.0]))
    flat = Posterior.of(box, draws=None, scale=np.ones(3))
    np.testing.assert_allclose(flat.mean, [0.5, 0.5, 0.0])
    seen = Posterior.of(box, draws=np.array([-4.0, 9.0, 0.0]), scale=np.full(3, 0.1))
    assert 0.0 < seen.mean[0] < 0.15
    assert 0.85 < seen.mean[1] < 1.0
    assert seen.mean[2] == 0.0
    np.testing.assert_allclose(seen.density.sum(axis=0), 1.0)


@pytest.mark.parametrize("total", [0.2, 0.9, 1.7])
def test_a_tilt_gives_the_total_asked_for_and_leaves_other_entries(total):
    flat = Posterior.of(Polytope(np.zeros(3), np.ones(3)), draws=None, scale=np.ones(3))
    weight = np.array([1.0, 0.8])
    tilted = flat.tilted(np.array([0, 1]), weight, total=total)
    assert float(weight @ tilted.mean[:2]) == pytest.approx(total, abs=1e-6)
    assert tilted.mean[2] == pytest.approx(0.5)
    assert (tilted.variance >= 0.0).all()


def test_a_total_out_of_reach_is_approached():
    flat = Posterior.of(Polytope(np.zeros(1), np.ones(1)), draws=None, scale=np.ones(1))
    assert flat.tilted(np.array([0]), np.ones(1), total=5.0).mean[0] > 0.95
    assert flat.tilted(np.array([0]), np.zeros(1), total=5.0).mean[0] == pytest.approx(0.5)


def test_clipped_draws_do_not_bias_a_row():
    """Entries at 0 with wide noise: the clipped draws' mean is far above 0, their level is not."""
    rng = np.random.default_rng(0)
    box = Polytope(np.zeros(400), np.ones(400))
    draws, scale = rng.laplace(scale=0.7, size=400), np.full(400, 0.7)
    belief = Posterior.of(box, draws=draws, scale=scale)
    levelled = belief.levelled(np.arange(400), bounds=box, draws=draws, scale=scale)
    assert belief.mean.mean() > 0.3
    assert levelled.mean.mean() < 0.12


def row_of(envelope: Envelope, **options) -> ParametricLP:
    """One row that adds up all entries, each times its own variable."""
    n = envelope.num_entries
    return ParametricLP(
        envelope,
        c=np.ones(n),
        A=Affine((1, n), at=(np.zeros(n, dtype=int), np.arange(n)), entry=np.arange(n)),
        b=[3.0],
        **options,
    )


@pytest.mark.parametrize("radius", [5e-324, 1e-308])
def test_a_look_at_totals_that_public_data_show_to_be_useless_spends_nothing(tmp_path, radius):
    envelope = Envelope(0.0, 1.0, radius=radius, shape=6)
    ledger = PrivacyLedger(tmp_path / "ledger.sqlite")
    ledger.create("tiny", BUDGET, "one person")
    database = Database(np.ones(6), envelope, identity="tiny")
    release = release_looks(
        database, BUDGET, program=row_of(envelope, upper=5.0), plan=Plan(0), ledger=ledger
    )
    assert release.totals is None
    assert release.guarantee.epsilon == 0
    assert ledger.spent("tiny").epsilon == 0


def test_the_robust_answer_in_place_of_a_failed_solve_is_certified_for_the_release(
    large, tmp_path, monkeypatch
):
    program, database = large

    def fails(*_: object) -> None:
        raise SolverError("no optimum")

    monkeypatch.setattr(solving, "solve_private", fails)
    answer = release_and_solve(program, database, BUDGET, plan="totals")
    assert answer.release.totals is not None
    files = [
        program.save(tmp_path / "program.npz"),
        answer.release.save(tmp_path / "release.npz"),
        answer.solution.save(
            tmp_path / "solution.npz", release=answer.release, program=program, name="auction"
        ),
    ]
    report = verify(*files)
    assert [found for found in report.findings if found.holds is False] == []


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda program: choose_plan(program, BUDGET, seed=-1), "seed"),
        (lambda program: choose_plan(program, BUDGET, guard=-1.0), "guard"),
        (lambda program: advise_plans(program, epsilons=[]), "epsilons"),
        (lambda program: advise_plans(program, menu=()), "menu"),
        (lambda program: planned("database", program, BUDGET, guess=[1.0]), "guess"),
        (lambda program: choose_plan(program, BUDGET, guess=OUTSIDE), BOUNDS),
        (lambda program: planned("database", program, BUDGET, guess=OUTSIDE), BOUNDS),
        (lambda program: planned(Plan(1), program, BUDGET, guess=OUTSIDE), BOUNDS),
        (lambda program: advise_plans(program, guess=OUTSIDE), BOUNDS),
        (
            lambda program: release_looks(
                Database(np.zeros(300), program.envelope),
                BUDGET,
                program=program,
                plan=Plan(1),
                guess=OUTSIDE,
            ),
            BOUNDS,
        ),
    ],
)
def test_odd_questions_about_plans_are_refused_by_name(large, call, text):
    with pytest.raises(InvalidArgumentError, match=text):
        call(large[0])


def test_counts_that_floats_cannot_add_up_are_refused():
    counts = np.append(np.full(4096, 2.0**41), np.ones(64))[None]
    with pytest.raises(InvalidArgumentError, match="counts must add up"):
        Totals(counts, [0], support=3, step=[1.0], grid=np.ones(counts.size))


def test_a_release_of_other_entries_is_no_ground_for_beliefs(large):
    other = release_and_solve(*auction(4), BUDGET, plan="database").release
    with pytest.raises(InvalidArgumentError, match="does not fit"):
        posterior_mean(large[0], other)


def test_the_plan_one_can_look_at_is_the_one_a_release_follows():
    for groups in (30, 200):
        program = auction(groups)[0]
        assert choose_plan(program, BUDGET).facts() == planned("auto", program, BUDGET).facts()


def test_budgets_too_small_to_be_divided_are_spent_on_one_look():
    program, database = auction(4)
    least = PrivacyBudget(1, Fraction(5, 2**64))
    release, choice = release_planned(database, least, program=program)
    assert choice.plan == DATABASE
    assert release.guarantee.delta == least.delta


def test_a_truth_value_is_no_guess():
    with pytest.raises(InvalidArgumentError, match="guess must be numbers"):
        choose_plan(auction(4)[0], BUDGET, guess=True)


def test_noise_that_may_not_be_found_is_no_default():
    program = knapsack()
    kinds = [suited_noise(program, PrivacyBudget(10, delta)) for delta in ("1e-3", "1e-8")]
    assert kinds == ["optimal", "tight"]
    assert suited_noise(program, PrivacyBudget("1/10", "1e-3")) == "tight"
