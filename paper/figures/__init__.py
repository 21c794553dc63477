"""A picture of each table: functions from its rows to a matplotlib Figure."""
