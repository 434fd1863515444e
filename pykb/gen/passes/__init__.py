"""Turns the IR of a type into its finished schema. ``resolve`` runs these steps for each named type, in this order.

1. ``pykb.gen.lower`` makes the tree of a type, with references to other named types.
2. Markers decide which fields are required.
3. For each field: parts that waited for references are completed (``unite`` makes one object of a union of structs),
   ``without_validation`` removes a type's validations, ``markers`` applies the effects of markers, and ``members``
   collects what the fields require of the object around them.
4. References are replaced: ``merge`` joins a named type's schema with the constraints of its use.
5. For each class, bases first: its markers and ``@annotate(...)``, then the rules of all of them.

``as_cel`` writes rules for the other passes. Constraints and markers set keywords through ``pykb.gen.draft``.
"""
