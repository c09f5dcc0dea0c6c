"""The readers of files, one module per kind of file. Every module here is loaded and registers its readers."""
