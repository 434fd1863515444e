"""Changes users' Python source: formats new code as Ruff does, and leaves all other code unchanged."""
