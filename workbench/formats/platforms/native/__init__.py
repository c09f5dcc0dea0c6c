"""The workbench's own JSON."""
