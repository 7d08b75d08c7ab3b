"""How often guarantees hold for new data."""
