"""Code that runs inside the worker: standard library only, without package imports; each file is loaded by its path."""
