"""What a run did, as one page that a person reads: it needs no network, and every string in it is escaped."""
