"""What is public about private numbers, and the private numbers."""

from dp_cmdp._src.data.affine import Affine
from dp_cmdp._src.data.database import Database
from dp_cmdp._src.data.envelope import Envelope, Group
from dp_cmdp._src.data.uncertainty import UncertaintySet

__all__ = ["Affine", "Database", "Envelope", "Group", "UncertaintySet"]
