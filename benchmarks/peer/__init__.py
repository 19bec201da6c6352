"""The peer, in virtual environments of its own under `benchmarks/.peer`."""
