"""Turns the finished IR into objects, and objects into bytes. Does not make decisions about schemas."""
