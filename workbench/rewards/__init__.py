"""A suite as a reward function inside a trainer: one file a trainer's signature in `trainers`."""

from __future__ import annotations

from workbench.discovery import load_modules
from workbench.rewards import trainers
from workbench.rewards.reward import Reward, reward
from workbench.rewards.trainer import TRAINERS, NoScoreError, TrainerFunction, trainer

# A signature is found by being there: every module in `trainers` registers its own.
load_modules(trainers)

__all__ = ["TRAINERS", "NoScoreError", "Reward", "TrainerFunction", "reward", "trainer"]
