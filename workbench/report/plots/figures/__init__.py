"""The figures of a report, one per file. Every module here is loaded and registers its figure."""
