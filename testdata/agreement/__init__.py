"""Types whose values Python and the API server must judge alike (tests/apiserver/api)."""
