"""The report of an evaluation: one HTML page that needs no network, every string in it escaped."""
