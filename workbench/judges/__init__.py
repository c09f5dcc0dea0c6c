"""LLM judges: graders that call a model, and the endpoint grader, which calls a service."""

from __future__ import annotations

from workbench.core.discovery import load_modules
from workbench.judges import kinds
from workbench.judges.budget import Budget, BudgetError
from workbench.judges.cache import ReplyStore
from workbench.judges.kinds import Judge
from workbench.judges.kinds.agent_judge import AgentJudge
from workbench.judges.kinds.binary import BinaryJudge
from workbench.judges.kinds.criteria import CriteriaJudge, GuardrailJudge, SchemaJudge
from workbench.judges.kinds.endpoint_grader import Endpoint
from workbench.judges.kinds.ladder import Ladder
from workbench.judges.kinds.openai import LabelJudge, ScoreJudge
from workbench.judges.kinds.pairwise import PairwiseJudge
from workbench.judges.kinds.panel import Panel
from workbench.judges.kinds.rag import AnswerRelevancyJudge, ContextRelevancyJudge, FaithfulnessJudge
from workbench.judges.kinds.row_rubric import RowRubric
from workbench.judges.kinds.rubric import RubricJudge
from workbench.judges.openai_client import OpenAIClient
from workbench.judges.prices import PRICES, Price, set_prices
from workbench.judges.protocol import (
    ChatClient,
    JudgeKeyError,
    JudgeLimitError,
    JudgeServerError,
    JudgeTimeoutError,
    NoModelError,
    NoServerError,
    Reply,
    ScriptedClient,
    Usage,
)
from workbench.judges.verdicts import PLATFORMS, AnswerError

# Judges are found by import: every module of `kinds` registers its kind.
load_modules(kinds)

__all__ = [
    "PLATFORMS",
    "PRICES",
    "AgentJudge",
    "AnswerError",
    "AnswerRelevancyJudge",
    "BinaryJudge",
    "Budget",
    "BudgetError",
    "ChatClient",
    "ContextRelevancyJudge",
    "CriteriaJudge",
    "Endpoint",
    "FaithfulnessJudge",
    "GuardrailJudge",
    "Judge",
    "JudgeKeyError",
    "JudgeLimitError",
    "JudgeServerError",
    "JudgeTimeoutError",
    "LabelJudge",
    "Ladder",
    "NoModelError",
    "NoServerError",
    "OpenAIClient",
    "PairwiseJudge",
    "Panel",
    "Price",
    "Reply",
    "ReplyStore",
    "RowRubric",
    "RubricJudge",
    "SchemaJudge",
    "ScoreJudge",
    "ScriptedClient",
    "Usage",
    "set_prices",
]
