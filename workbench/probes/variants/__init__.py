"""Transformations: a family a file, registered by `@variant(name, "reject" or "accept", what its texts are)`."""
