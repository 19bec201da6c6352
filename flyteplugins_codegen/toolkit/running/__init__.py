"""Running code of any language in a sandbox: its names, its files in and out, the interpreter, what is told of it."""
