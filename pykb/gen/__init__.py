"""From types and markers to manifests: load, declare, lower to the IR, passes over it, emit.

Nothing here prints, reads ``argv`` or exits: :func:`pykb.gen.run.generate` returns artifacts and diagnostics.
"""
