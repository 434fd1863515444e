"""Looks into a running manager: what its tasks, threads and controllers do, where CPU time and memory go.

Nothing of it is imported before somebody looks. It shows places in code, names and numbers. It never shows the values
of variables, so no object and no secret.
"""
