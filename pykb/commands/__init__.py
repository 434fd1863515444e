"""The commands that scaffold, as plans: checked against the project, filled by plugins."""
