"""The prompts as jinja2 files, and what fills them."""
