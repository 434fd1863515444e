"""From the finished IR to objects, and from objects to bytes; makes no decisions about schemas."""
