"""How `infer_lang` judges: a bounded sample, what is certain about it, then weighed evidence for each language."""
