"""Mirrors of kinds: lists and watches become objects that are read from memory."""
