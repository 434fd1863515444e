"""What a new CRD does to objects and clients of the one before: a comparison, and findings in the user's source."""
