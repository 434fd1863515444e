"""Every constraint in its Pydantic spelling."""
