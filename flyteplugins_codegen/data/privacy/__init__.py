"""What a model must not see of a sample: found, replaced by fakes of the same form, and reported."""
