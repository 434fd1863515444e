"""Sharding: the replicas of a manager share its objects. Each object is worked on by one replica at a time."""
