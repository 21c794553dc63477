"""What is audited: the shipped releases and programs, awkward ones, and broken ones."""
