"""eval-framework's metric for generated code, by its own names, judged by what can be counted."""
