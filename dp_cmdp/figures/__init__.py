"""Pictures, each drawn from rows or results that others computed.

A function ``…_figure`` takes what it shows first (rows of a table, advice, a report, policies), all
else by keyword, and returns a matplotlib Figure; :func:`save_figure` writes it. Pictures with one
panel can be drawn on given axes (`ax`). The figure of ``dp-cmdp reproduce NAME`` is called
``NAME_figure``. Names, and matplotlib, are loaded on first use; the list of them is
``__init__.pyi``.
"""

import lazy_loader

from dp_cmdp._extras import require

require("matplotlib")
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
