"""Built-in types of the group admissionregistration, one module per version."""
