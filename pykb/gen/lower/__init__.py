"""From Python types to the IR, one module a shape. Named types stay references; ``passes`` resolve them."""
