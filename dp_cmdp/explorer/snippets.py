"""The code that does what the page shows, ready to run."""

from __future__ import annotations

from dp_cmdp.envs.layout_files import format_map
from dp_cmdp.explorer.grid_design import GridDesign
from dp_cmdp.explorer.program_design import AuctionDesign, FileDesign
from dp_cmdp.explorer.settings import Settings

KIND_FACTS = ("name", "severity", "severity_radius", "tolerance", "tolerance_radius")


def grid_code(design: GridDesign) -> str:
    """Release and policy of a design with its invented hazards.

    Notes
    -----
    **Privacy.** *Public*: what it quotes is public or invented.
    """
    hazards = design.invented()
    grid = hazards.layout
    by_kind = [
        ", ".join(
            f"({cell // grid.cols}, {cell % grid.cols}): {severity!r}"
            for number, cell, severity in design.placed()
            if number == index and cell in kind.cells
        )
        for index, kind in enumerate(grid.kinds)
    ]
    return "\n".join(
        [
            "import numpy as np",
            "from dp_cmdp import PrivacyBudget, release_and_synthesize",
            "from dp_cmdp.envs import HazardGridEnv, Hazards, parse_map",
            "",
            *_layout_code(design),
            "# invented; your own come from a file: hazards=Path('mine.json')",
            "hazards = Hazards.place(",
            "    layout,",
            f"    [{', '.join(f'{{{part}}}' for part in by_kind)}],",
            f"    tolerance={hazards.tolerance.tolist()!r},",
            ")",
            'curator = HazardGridEnv(layout, access="curator", hazards=hazards)',
            "private = release_and_synthesize(",
            "    curator.model(),",
            "    curator.database(),",
            *_asked(design),
            ")",
            "print(private.safe.value, private.robust.value)",
            "print(private.safe.certificate)",
            "",
        ]
    )


def _layout_code(design: GridDesign) -> list[str]:
    grid = design.grid()
    kinds = [{fact: getattr(kind, fact) for fact in KIND_FACTS} for kind in grid.kinds]
    letters = format_map(grid).replace("\n", "")
    for number, (kind, facts) in enumerate(zip(grid.kinds, kinds, strict=True), start=1):
        cells = [cell for cell in kind.cells if letters[cell] not in ("?", str(number))]
        if cells:
            facts["cells"] = cells
    starts = dict(grid.starts)
    return [
        "layout = parse_map(",
        '    """',
        *format_map(grid).splitlines(),
        '""".strip(),',
        f"    kinds={kinds!r},",
        f"    start={starts!r},",
        f"    slip={grid.slip!r},",
        f"    gamma={grid.gamma!r},",
        f"    step_reward={grid.step_reward!r},",
        f"    goal_reward={grid.goal_reward!r},",
        f"    name={grid.name!r},",
        ")",
    ]


def _asked(design: Settings) -> list[str]:
    return [
        f'    PrivacyBudget("{design.epsilon}", "{design.delta}"),',
        f'    plan="{design.plan}",',
        f"    rng=np.random.default_rng({design.noise}),  # a simulation: leave out for real data",
    ]


def program_code(design: AuctionDesign | FileDesign) -> str:
    """Release and solution of a linear program.

    Notes
    -----
    **Privacy.** *Public*: what it quotes is public or invented.
    """
    head = (
        [
            "import numpy as np",
            "from dp_cmdp import PrivacyBudget, release_and_solve",
            "from dp_cmdp.problems.ad_auction import ad_auction_program, random_auction",
            "",
            f"program = ad_auction_program({design.groups}, {design.advertisers}, "
            f"price_radius={design.radius!r})",
            f"database = random_auction(program, np.random.default_rng({design.seed}))  # invented",
        ]
        if isinstance(design, AuctionDesign)
        else [
            "import numpy as np",
            "from dp_cmdp import PrivacyBudget, release_and_solve",
            "from dp_cmdp.frontends.lp_file import read_lp",
            "from dp_cmdp.frontends.lp_spec import read_spec",
            "from dp_cmdp.frontends.private_lp import private_program",
            "",
            f"model = read_lp({design.model_name!r})",
            'private = private_program(model, read_spec("spec.toml"), public_model=True)',
            'program, database = private.program, private.database("values.csv")',
        ]
    )
    return "\n".join(
        [
            *head,
            "answer = release_and_solve(",
            "    program,",
            "    database,",
            *_asked(design),
            ")",
            "print(answer.solution.objective, answer.robust.objective)",
            "print(answer.solution.certificate)",
            "",
        ]
    )
