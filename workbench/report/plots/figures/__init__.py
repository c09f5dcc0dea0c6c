"""The figures of a report, one subject per file. Every module here is loaded and registers its figures."""
