"""The program that judges by values inside the sandbox: standard library only, shipped as one archive of modules."""
