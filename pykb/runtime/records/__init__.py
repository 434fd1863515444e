"""Records of reconciles: who runs, why it ran, what it sent and wrote, and how it ended."""
