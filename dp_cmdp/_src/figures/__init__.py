"""Pictures of answers, releases, advice and audits, as matplotlib figures (extra ``figures``)."""

from dp_cmdp._src.base.extras import require

require("matplotlib")
