"""The Common Expression Language as CRDs use it: syntax, and which fields of a schema a rule names.

Source: the language definition of CEL, and https://kubernetes.io/docs/reference/using-api/cel/.
"""
