"""From what a type says to its finished schema. ``resolve`` leads each named type through these steps, in this order.

1. ``pykb.gen.lower`` makes the tree of a type; other named types are references in it.
2. ``presence`` decides which fields are required.
3. For each field: what waited for the types behind references is settled (``unite`` makes one object of a union of
   structs), ``opaque`` takes a type's validations away, ``markers`` carries out the effects of markers, and
   ``members`` gathers what the fields say about the object around them.
4. References are replaced: ``merge`` joins a named type's schema with what its use says.
5. For each class, bases first: its markers and ``@annotate(...)``, then the rules of all of them.

``as_cel`` and ``one_of`` write rules for others. In ``pykb.gen._draft`` constraints and markers put keywords onto a
schema.
"""
