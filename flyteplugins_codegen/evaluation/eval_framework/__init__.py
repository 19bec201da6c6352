"""eval-framework's metric for generated code, with its own names; tests are counted, not read from printed text."""
