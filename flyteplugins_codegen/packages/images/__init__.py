"""Building container images: one contract, a builder for each program or service, credentials, diagnosis."""
