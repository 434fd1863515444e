"""Built-in types of the group flowcontrol, one module per version."""
