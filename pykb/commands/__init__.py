"""The scaffolding commands, as plans. Each is checked against the project, and plugins add the files."""
