"""The OpenAI client: requests, retries, concurrency, and what goes wrong with a request."""
