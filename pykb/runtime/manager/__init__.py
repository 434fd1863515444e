"""The manager: what runs in a program, in which order it starts, and how it ends."""
