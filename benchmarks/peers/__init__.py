"""Other packages on the same data, in the same run."""
