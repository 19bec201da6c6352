"""How candidates are judged: by values, by counted suites, by what programs print; each in its own file."""
