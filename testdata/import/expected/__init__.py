"""Types imported from CustomResourceDefinitions."""
