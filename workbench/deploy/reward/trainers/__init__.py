"""Signatures of trainers, one per file: to add one, write a file with a class under `@trainer(name)`."""
