"""Turns Python types into the IR. ``annotation`` dispatches by the shape of a type, and ``models`` lowers classes.

Named types stay references until ``passes`` resolve them.
"""
