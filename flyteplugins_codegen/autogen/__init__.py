"""The building blocks that people use one by one, outside of a whole run: the functions of AutoGen 0.2, made right."""
