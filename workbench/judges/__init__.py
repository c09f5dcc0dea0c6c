"""LLM judges: graders that call a model, and the endpoint grader, which calls a service."""

from __future__ import annotations

from workbench.core.discovery import load_modules
from workbench.judges import kinds
from workbench.judges.answers.verdicts import PLATFORMS, AnswerError
from workbench.judges.asking.budget import Budget, BudgetError
from workbench.judges.asking.prices import PRICES, Price
from workbench.judges.asking.reply_store import ReplyStore
from workbench.judges.base import Judge
from workbench.judges.client.openai import OpenAIClient
from workbench.judges.kinds.agent.judge import AgentJudge
from workbench.judges.kinds.answer_relevancy import AnswerRelevancyJudge
from workbench.judges.kinds.binary import BinaryJudge
from workbench.judges.kinds.context_relevancy import ContextRelevancyJudge
from workbench.judges.kinds.criteria import CriteriaJudge
from workbench.judges.kinds.endpoint.grader import Endpoint
from workbench.judges.kinds.faithfulness import FaithfulnessJudge
from workbench.judges.kinds.guardrail import GuardrailJudge
from workbench.judges.kinds.label import LabelJudge
from workbench.judges.kinds.pairwise import PairwiseJudge
from workbench.judges.kinds.rubric import RubricJudge
from workbench.judges.kinds.schema import SchemaJudge
from workbench.judges.kinds.score import ScoreJudge
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
    "NoModelError",
    "NoServerError",
    "OpenAIClient",
    "PairwiseJudge",
    "Price",
    "Reply",
    "ReplyStore",
    "RubricJudge",
    "SchemaJudge",
    "ScoreJudge",
    "ScriptedClient",
    "Usage",
]
