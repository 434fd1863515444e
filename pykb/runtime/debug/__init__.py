"""Inspects a running manager: its tasks, threads and controllers, its CPU time and memory.

It is imported only on first use. It shows places in code, names and numbers. It never shows the
values of variables, and so no objects and no secrets.
"""
