"""The app: a session, its view, and the notebook widgets."""
