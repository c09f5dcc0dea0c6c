"""Signatures of trainers, one a file: to add one, write a file with a class under `@trainer(name)`."""
