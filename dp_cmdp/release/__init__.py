"""The verbs that cross the privacy boundary."""
