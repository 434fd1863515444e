"""The page of ``pykb dev``: what the manager does, live, in a browser."""
