"""A report as one HTML file that needs nothing else."""

from workbench.html.page import render_html, write_html

__all__ = ["render_html", "write_html"]
