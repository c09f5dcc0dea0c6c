"""Servers asked: the OpenAI client, its tries and pace, and what goes wrong with a request."""
