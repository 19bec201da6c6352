"""Problems, samples, and what becomes of them: judged in isolation, counted, pass@k with its uncertainty."""
