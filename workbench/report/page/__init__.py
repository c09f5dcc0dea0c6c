"""A report, and a certificate, as one self-contained HTML file."""

from workbench.report.page.page import render_certificate, render_html, write_certificate, write_html

__all__ = ["render_certificate", "render_html", "write_certificate", "write_html"]
