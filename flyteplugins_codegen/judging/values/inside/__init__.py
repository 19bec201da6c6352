"""The program that judges values inside the sandbox: standard library only, shipped as one file."""
