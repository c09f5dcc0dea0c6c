"""vLLora's graders."""
