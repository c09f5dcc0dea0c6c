"""The agent judge: a model that works with tools and hands its grade in by calling one."""
