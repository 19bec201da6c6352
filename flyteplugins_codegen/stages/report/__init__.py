"""The report of a run: one HTML page that needs no network. Every string in it is escaped."""
