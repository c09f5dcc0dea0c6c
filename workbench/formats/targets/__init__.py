"""Trainers and evaluators as targets: each gets one Python file that stands alone."""
