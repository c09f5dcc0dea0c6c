"""vLLora's graders. Importing the module registers the format."""

from workbench.formats.platforms.vllora import read_write as read_write
