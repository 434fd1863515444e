"""The files of a project: snapshots, plans of changes, and the transaction that makes them."""
