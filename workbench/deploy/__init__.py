"""Graders outside the notebook: rewards for trainers, and the HTTP server."""
