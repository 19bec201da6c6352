"""Problems out of files: each benchmark's own form, and one of ours."""
