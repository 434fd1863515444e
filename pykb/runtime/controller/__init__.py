"""Controllers: sources of events, handlers, and the workers that call a reconciler."""
