"""Graders whose rule the user writes: a function, a script, a callable of this process, a whole rollout."""
