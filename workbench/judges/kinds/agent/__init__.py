"""The agent judge: its model works with tools and hands its grade in by calling one."""
