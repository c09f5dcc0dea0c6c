"""The prompts as jinja2 files, and the code that fills them."""
