"""Turns CustomResourceDefinitions into typed Python packages, the reverse of the generator.

``source`` reads manifests, ``definition`` finds the CRDs in them, ``shape`` decides which parts of a schema become
classes, ``_builtin`` recognises Kubernetes' own types, ``_spelling`` writes a schema as a type, ``_module`` writes
a module, ``_package`` decides on the files, ``plan`` on what may be written.
"""
