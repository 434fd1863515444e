"""Built-in types of the group storagemigration, one module per version."""
