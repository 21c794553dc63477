"""What an audit looks at: one module per layer."""
