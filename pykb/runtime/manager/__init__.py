"""The manager: runs the parts of a program, starts them in order and stops them."""
