"""The paper's accuracy theorem, as printed and as repaired."""
