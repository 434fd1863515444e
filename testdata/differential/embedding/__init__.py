"""Python half of a differential pair."""
