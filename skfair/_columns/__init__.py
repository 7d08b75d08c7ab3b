"""How people write columns: numbers, labels, missing values and files."""
