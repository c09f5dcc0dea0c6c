"""A suite as a reward function inside a trainer: one file per trainer's signature in `trainers`."""

from __future__ import annotations

from workbench.core.discovery import load_modules
from workbench.deploy.reward import trainers
from workbench.deploy.reward.reward import Reward, reward
from workbench.deploy.reward.trainer import TRAINERS, NoScoreError, TrainerFunction, trainer

# Signatures are found by import: every module in `trainers` registers its signature.
load_modules(trainers)

__all__ = ["TRAINERS", "NoScoreError", "Reward", "TrainerFunction", "reward", "trainer"]
