"""Letta Evals's graders. Importing the reader registers the format."""

from workbench.formats.platforms.letta import reading as reading
