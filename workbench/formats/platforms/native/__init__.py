"""The workbench's own JSON. Importing the module registers the format."""

from workbench.formats.platforms.native import read_write as read_write
