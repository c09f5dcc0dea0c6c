"""Trainers and evaluators as targets: each gets one self-contained Python file."""
