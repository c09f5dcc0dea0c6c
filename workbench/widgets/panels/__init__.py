"""The panels of the Workbench, one a file."""
