"""Finds incompatible changes between two versions of a CRD and reports them in the user's source."""
