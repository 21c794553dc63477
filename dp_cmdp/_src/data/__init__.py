"""What is public about private numbers, and the private numbers."""
