"""Python source of users: laid out as Ruff's formatter does, added to without a change to anything else."""
