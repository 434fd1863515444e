"""Several processes of one program on one machine, which share its objects as replicas do.

A Python process computes on one core. With ``--processes P``, the program starts itself P times and
becomes their parent: it answers probes and scrapes for all, passes signals on, and starts a process
again that has died.
"""
