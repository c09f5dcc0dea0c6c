"""LLM judges: graders that ask a model, and the endpoint grader, which asks a service."""

from __future__ import annotations

from workbench.judges.agent import AgentJudge
from workbench.judges.answers import RULES, AnswerError
from workbench.judges.base import Judge
from workbench.judges.binary import BinaryJudge
from workbench.judges.budget import Budget, BudgetError
from workbench.judges.client import (
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
from workbench.judges.criteria import CriteriaJudge, GuardrailJudge
from workbench.judges.endpoint import Endpoint
from workbench.judges.models import LabelModel, ScoreModel
from workbench.judges.openai_client import OpenAIClient
from workbench.judges.pairwise import PairwiseJudge
from workbench.judges.prices import PRICES, Price
from workbench.judges.rag import AnswerRelevancy, ContextRelevancy, Faithfulness
from workbench.judges.replies import ReplyStore
from workbench.judges.rubric import RubricJudge
from workbench.judges.schema import SchemaJudge

__all__ = [
    "PRICES",
    "RULES",
    "AgentJudge",
    "AnswerError",
    "AnswerRelevancy",
    "BinaryJudge",
    "Budget",
    "BudgetError",
    "ChatClient",
    "ContextRelevancy",
    "CriteriaJudge",
    "Endpoint",
    "Faithfulness",
    "GuardrailJudge",
    "Judge",
    "JudgeKeyError",
    "JudgeLimitError",
    "JudgeServerError",
    "JudgeTimeoutError",
    "LabelModel",
    "NoModelError",
    "NoServerError",
    "OpenAIClient",
    "PairwiseJudge",
    "Price",
    "Reply",
    "ReplyStore",
    "RubricJudge",
    "SchemaJudge",
    "ScoreModel",
    "ScriptedClient",
    "Usage",
]
