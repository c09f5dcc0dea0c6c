"""The figures of a report, each in a file of its own. Every module here is loaded and registers its figure."""
