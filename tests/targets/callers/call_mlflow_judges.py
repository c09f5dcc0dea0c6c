"""Evaluates rows with an exported file's scorers and judges, as `mlflow.genai.evaluate` does, against a server in this process.

The facts are what MLflow made of each judge, and what it asked the server; the server answers with the first value that the
question's schema allows, or 0.75. Judges of other providers than OpenAI are made and not asked.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import get_args

os.environ.update(
    MLFLOW_DISABLE_TELEMETRY="true",
    DO_NOT_TRACK="true",
    MLFLOW_GENAI_EVAL_MAX_WORKERS="2",
    OPENAI_API_KEY="none",
)
os.environ.pop("OPENAI_API_BASE", None)
sys.path.insert(0, str(Path(__file__).parent))
import mlflow
from common import Scores, arguments, import_file
from mlflow.genai.judges.base import Judge

ASKED: list[dict] = []


class Server(BaseHTTPRequestHandler):
    """Replies to every request in the requested form."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        ASKED.append(body)
        schema = body["response_format"]["json_schema"]["schema"]
        value = schema["properties"]["result"].get("enum", [0.75])[0]
        answer = {"role": "assistant", "content": json.dumps({"rationale": "because", "result": value})}
        choice = {"index": 0, "finish_reason": "stop", "message": answer}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        said = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [choice],
            "usage": usage,
        }
        data = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def described(judge: Judge) -> dict:
    """What MLflow made of a judge."""
    kind = judge.feedback_value_type
    return {
        "variables": sorted(judge.template_variables),
        "type": list(get_args(kind)) or kind.__name__,
        "model": judge.model,
        "inference": judge.inference_params,
        "instructions": judge.instructions,
    }


def main() -> None:
    exported, rows, target = arguments()
    scores = Scores(len(rows))
    logging.getLogger("mlflow").setLevel(logging.ERROR)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{server.server_port}/v1"
    module = import_file(exported)
    judges = {one.name: one for one in module.scorers if isinstance(one, Judge)}
    scores.facts["judges"] = {name: described(judge) for name, judge in judges.items()}
    called = [
        one
        for one in module.scorers
        if one.name not in judges or judges[one.name].model.startswith("openai:/")
    ]
    table = [
        {"inputs": {"prompt": row["prompt"]}, "outputs": row["completion"], "expectations": row["columns"]}
        for row in rows
    ]
    with tempfile.TemporaryDirectory() as folder:
        mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
        mlflow.create_experiment("rows", artifact_location=f"file://{folder}/artifacts")
        mlflow.set_experiment("rows")
        frame = mlflow.genai.evaluate(data=table, scorers=called).result_df
    names = [one.name for one in called]
    scores.facts["values"] = [
        {name: row[f"{name}/value"] for name in names} for row in frame.to_dict("records")
    ]
    scores.facts["asked"] = [
        {
            "model": one["model"],
            "texts": [turn["content"] for turn in one["messages"]],
            "temperature": one.get("temperature"),
        }
        for one in ASKED
    ]
    server.shutdown()
    scores.write(target)


main()
