# `workbench check`, `serve` and `probe` in a container; the graders are mounted at /graders.
#   docker build -t grader-workbench . && docker run --rm -v "$PWD:/graders" grader-workbench check reward.py golden.jsonl
FROM python:3.12-slim
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY workbench ./workbench
COPY notebooks ./notebooks
RUN pip install --no-cache-dir ".[serve]" && useradd --create-home grader
USER grader
WORKDIR /graders
ENTRYPOINT ["workbench"]
CMD ["--help"]
