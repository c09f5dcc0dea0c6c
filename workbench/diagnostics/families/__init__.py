"""The families of diagnostics, one a file; every module here is found and registers its own."""
