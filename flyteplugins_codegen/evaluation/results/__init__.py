"""The ends of samples in files: a line or a row for each, in the order given."""
