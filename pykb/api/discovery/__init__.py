"""Built-in types of the group discovery, one module per version."""
