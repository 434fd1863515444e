"""Controllers: what wakes them, what waits in their queue, and how often it is tried again."""
