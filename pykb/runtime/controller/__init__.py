"""Controllers: sources of events, the work queue, workers and retries."""
