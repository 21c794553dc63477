"""What files claim, counted again from the files alone."""

from dp_cmdp._src.checking.report import Finding as Finding
from dp_cmdp._src.checking.report import Report as Report
from dp_cmdp._src.checking.verify.files import verify as verify
