"""What the compared systems share."""
