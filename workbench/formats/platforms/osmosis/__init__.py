"""Osmosis's graders. Importing the module registers the format."""

from workbench.formats.platforms.osmosis import read_write as read_write
