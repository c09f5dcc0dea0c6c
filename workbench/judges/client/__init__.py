"""The OpenAI client: requests, retries, concurrency, and the errors of requests."""
