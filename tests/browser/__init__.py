"""The notebooks in a real JupyterLab, in a real browser."""
