"""One file per wire form: what a trainer or a platform sends, and what it reads."""
