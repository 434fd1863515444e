"""The development loop: keeps a control plane, the project's CRDs and its manager in step with the files."""
