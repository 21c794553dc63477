"""What files claim, proved again from public files alone."""
