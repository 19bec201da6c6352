"""Files derived from samples, on which two programs of the same job are compared."""
