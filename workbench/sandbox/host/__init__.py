"""The host side of the sandbox: starts, monitors and ends workers, and validates every reply before use."""
