"""Adaptive's graders. Importing the reader registers the format."""

from workbench.formats.platforms.adaptive import reading as reading
