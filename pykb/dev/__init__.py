"""The development loop: a control plane, the project's definitions, its manager, all following the files."""
