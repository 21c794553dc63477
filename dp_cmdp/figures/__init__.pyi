# The face of the pictures, read by type checkers and, at run time, by lazy_loader.
from .ad_auction import ad_headline_figure as ad_headline_figure
from .ad_auction import allocation_figure as allocation_figure
from .ad_curves import ad_budget_figure as ad_budget_figure
from .ad_curves import ad_epsilon_figure as ad_epsilon_figure
from .ad_curves import ad_size_figure as ad_size_figure
from .advice import advice_figure as advice_figure
from .audit import audit_figure as audit_figure
from .bounds import bounds_figure as bounds_figure
from .cost_of_privacy import cost_of_privacy_figure as cost_of_privacy_figure
from .grid import comparison_figure as comparison_figure
from .grid import policy_figure as policy_figure
from .hsu_cmdp import hsu_cmdp_figure as hsu_cmdp_figure
from .mean_shift import mean_shift_figure as mean_shift_figure
from .munoz_ads import munoz_ads_figure as munoz_ads_figure
from .scale import scale_figure as scale_figure
from .style import save_figure as save_figure
from .table1 import table1_figure as table1_figure
