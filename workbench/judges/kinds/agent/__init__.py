"""The agent judge: a model that works with tools and submits its grade by calling one."""
