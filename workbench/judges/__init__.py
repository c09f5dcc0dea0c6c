"""LLM judges: graders that ask a model, and the endpoint grader, which asks a service."""

from __future__ import annotations

from workbench.judges.agent import AgentJudge
from workbench.judges.answers import RULES, AnswerError
from workbench.judges.base import Judge
from workbench.judges.binary import BinaryJudge
from workbench.judges.client import ChatClient, JudgeServerError, Reply, ScriptedClient, Usage
from workbench.judges.criteria import CriteriaJudge, GuardrailJudge
from workbench.judges.endpoint import Endpoint
from workbench.judges.models import LabelModel, ScoreModel
from workbench.judges.openai_client import OpenAIClient
from workbench.judges.rag import AnswerRelevancy, ContextRelevancy, Faithfulness
from workbench.judges.rubric import RubricJudge
from workbench.judges.schema import SchemaJudge

__all__ = [
    "RULES",
    "AgentJudge",
    "AnswerError",
    "AnswerRelevancy",
    "BinaryJudge",
    "ChatClient",
    "ContextRelevancy",
    "CriteriaJudge",
    "Endpoint",
    "Faithfulness",
    "GuardrailJudge",
    "Judge",
    "JudgeServerError",
    "LabelModel",
    "OpenAIClient",
    "Reply",
    "RubricJudge",
    "SchemaJudge",
    "ScoreModel",
    "ScriptedClient",
    "Usage",
]
