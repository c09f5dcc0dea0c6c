"""The extractors there are; every module here is found and registers its own."""
