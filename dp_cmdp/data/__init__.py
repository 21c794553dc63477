"""Private numbers, the public facts about them, and what is released of them."""
