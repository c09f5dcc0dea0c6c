"""Graders with user code: a function, a script, a callable of this process, a rollout."""
