"""CustomResourceDefinitions into typed Python packages: the generator's way back.

``source`` reads manifests, ``definition`` finds the CRDs in them, ``shape`` decides which parts of a schema become
classes, ``builtin`` recognises Kubernetes' own types, ``spelling`` writes a schema as a type, ``module`` writes a
module, ``package`` lays out the files.
"""
