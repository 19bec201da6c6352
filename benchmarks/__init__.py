"""This project beside its closest peer, the Flyte 2 plugin `flyteplugins-codegen`: the same job, the same model server.

`make bench` runs it all; README.md in here says what is measured and how.
"""
