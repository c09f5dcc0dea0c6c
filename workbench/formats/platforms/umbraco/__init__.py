"""Umbraco.AI's graders. Importing the reader registers the format."""

from workbench.formats.platforms.umbraco import reading as reading
