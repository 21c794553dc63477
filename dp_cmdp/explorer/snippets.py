"""The code that does what the page shows, ready to run on the public face."""

from __future__ import annotations

import inspect

from dp_cmdp.envs import format_map
from dp_cmdp.explorer import auction
from dp_cmdp.explorer.grid_design import GridDesign, by_kind, public_bounds
from dp_cmdp.explorer.program_design import AuctionDesign, FileDesign
from dp_cmdp.explorer.settings import Settings


def grid_code(design: GridDesign) -> str:
    """Release and policy of a design with its invented hazards."""
    grid = design.grid()
    severity = [
        ", ".join(
            f"({cell // grid.cols}, {cell % grid.cols}): {level!r}"
            for number, cell, level in design.placed()
            if number == index and cell in kind.cells
        )
        for index, kind in enumerate(grid.kinds)
    ]
    asked = "" if design.horizon is None else f"horizon={design.horizon}"
    limit = [float(part) for part in by_kind(grid, design.values(), "limit")]
    return "\n".join(
        [
            "import dp_cmdp as dp",
            "",
            *_layout_code(design),
            '# invented; your own come from a file: hazards="mine.json"',
            "hazards = dp.envs.Hazards.place(",
            "    layout,",
            f"    [{', '.join(f'{{{part}}}' for part in severity)}],",
            f"    limit={limit!r},",
            ")",
            'curator = dp.envs.HazardGridEnv(layout, access="curator", hazards=hazards)',
            f"problem, values = curator.model({asked}), hazards.values()",
            *_simulation(design),
            "# for real data, with exact noise and against a ledger:",
            "# database = curator.database(ledger=dp.PrivacyLedger(path, account))",
            *_real(design),
        ]
    )


def _layout_code(design: GridDesign) -> list[str]:
    grid = design.grid()
    kinds = [public_bounds(kind) for kind in grid.kinds]
    letters = format_map(grid).replace("\n", "")
    for number, (kind, bounds) in enumerate(zip(grid.kinds, kinds, strict=True), start=1):
        cells = [cell for cell in kind.cells if letters[cell] not in ("?", str(number))]
        if cells:
            bounds["cells"] = cells
    return [
        "layout = dp.envs.parse_map(",
        '    """',
        *format_map(grid).splitlines(),
        '""".strip(),',
        f"    kinds={kinds!r},",
        f"    start={dict(grid.starts)!r},",
        f"    slip={grid.slip!r},",
        f"    gamma={grid.gamma!r},",
        f"    step_reward={grid.step_reward!r},",
        f"    goal_reward={grid.goal_reward!r},",
        f"    name={grid.name!r},",
        ")",
    ]


def _simulation(design: Settings) -> list[str]:
    return [
        "(found,) = dp.simulate(",
        "    problem,",
        "    values,",
        f'    epsilon="{design.epsilon}",',
        f'    delta="{design.delta}",',
        f'    strategy="{design.strategy}",',
        "    draws=1,",
        f"    seed={design.noise},",
        ")",
        "print(found, found.certificate)",
        "",
    ]


def _real(design: Settings) -> list[str]:
    return [
        f'# found = dp.solve(problem, database, epsilon="{design.epsilon}", '
        f'delta="{design.delta}", strategy="{design.strategy}")',
        "",
    ]


def program_code(design: AuctionDesign | FileDesign) -> str:
    """Release and solution of a linear program."""
    if isinstance(design, AuctionDesign):
        head = [
            "import numpy as np",
            "import dp_cmdp as dp",
            "",
            "",
            *inspect.getsource(auction.auction).splitlines(),
            "",
            "",
            f"problem = auction({design.groups}, {design.advertisers}, {design.radius!r})",
            f"rng, shape = np.random.default_rng({design.seed}), "
            f"({design.groups}, {design.advertisers})",
            'values = {"price": np.where(rng.random(shape) < 0.2, 0.0, rng.random(shape))}',
        ]
    else:
        head = [
            "import dp_cmdp as dp",
            "",
            f"model = {design.model_name!r}",
            'problem = dp.lpfile.load(model, private="spec.toml", relative_to_model=True)',
            'values = "values.csv"',
        ]
    return "\n".join(
        [
            *head,
            *_simulation(design),
            "# for real data, with exact noise and against a ledger:",
            "# ledger = dp.PrivacyLedger(path, account)",
            "# database = dp.Database(values, problem, ledger=ledger)",
            *_real(design),
        ]
    )
