"""Gymnasium environments that carry a private hazard database.

Names are loaded on first use. ``gymnasium.make("dp_cmdp/HazardGrid-v0")`` works after ``import
dp_cmdp``; ``gymnasium.make("dp_cmdp.envs:dp_cmdp/HazardGrid-v0")`` works without it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
