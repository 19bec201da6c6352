"""Samples in, context out: files, readers, profiles, the text of a prompt, schemas."""
