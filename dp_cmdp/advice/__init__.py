"""What a release would be worth before it is made, and how to plan one."""
