"""The language server: what editors ask about markers, which are comments that no type checker sees."""
