"""OpenAI's graders. Importing the reader registers the format."""

from workbench.formats.platforms.openai import reading as reading
