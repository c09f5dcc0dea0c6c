"""Shared by all formats: parsing untrusted documents, paths inside them, losses, writing files."""
