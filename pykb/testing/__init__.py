"""What tests of operators need: fixtures on a real control plane."""
