"""Python modules and JavaScript files. Importing the module registers the format."""

from workbench.formats.platforms.source_files import read_write as read_write
