"""Plugins: each adds the files of one part of a project to a plan. Commands run several in a chain."""
