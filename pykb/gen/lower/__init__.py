"""Turns Python types into the IR, with one module per shape.

Named types stay references until ``passes`` resolve them.
"""
