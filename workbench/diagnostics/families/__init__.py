"""The families of diagnostics, each in a file of its own. Every module here is loaded and registers its diagnostics."""
