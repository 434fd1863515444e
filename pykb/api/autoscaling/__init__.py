"""Built-in types of the group autoscaling, one module per version."""
