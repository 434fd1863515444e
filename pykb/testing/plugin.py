"""The pytest plugin: fixtures for tests of operators."""
