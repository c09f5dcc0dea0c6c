"""Transformations: one family per file, registered by `@variant(name, "reject" or "accept", what its texts are)`."""
