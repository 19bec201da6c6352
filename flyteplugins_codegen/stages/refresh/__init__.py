"""A saved solution on fresh data: examined, run, and renewed only if necessary."""
