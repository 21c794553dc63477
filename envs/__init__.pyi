# The face of the package, read by type checkers and, at run time, by lazy_loader.
from .catalogue import as_layout as as_layout
from .catalogue import layout_names as layout_names
from .catalogue import named_layout as named_layout
from .dynamics import GridModel as GridModel
from .hazard_grid import HazardGridEnv as HazardGridEnv
from .hazard_grid import random_hazard_grid as random_hazard_grid
from .hazards import Hazards as Hazards
from .layout import HazardKind as HazardKind
from .layout import Layout as Layout
from .layout_files import format_map as format_map
from .layout_files import load_layout as load_layout
from .layout_files import parse_map as parse_map
from .layout_files import save_layout as save_layout
from .random_layouts import random_layout as random_layout
from .registration import REGISTERED as REGISTERED
