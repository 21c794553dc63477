"""What files claim, counted again from the files alone."""
