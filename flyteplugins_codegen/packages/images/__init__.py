"""Container images, built: one contract, a builder for each program or service that builds, credentials, diagnosis."""
