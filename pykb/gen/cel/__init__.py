"""The Common Expression Language in CRDs: parsing, type checking, cost and evaluation of rules.

Source: the language definition of CEL, and https://kubernetes.io/docs/reference/using-api/cel/.
"""
