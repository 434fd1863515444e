"""The files of a project: what is there, what a command would change, and the transaction that changes it."""
