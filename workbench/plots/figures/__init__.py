"""The figures of a report, one a file; every module here is found and registers its own."""
