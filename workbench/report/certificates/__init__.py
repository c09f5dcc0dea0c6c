"""Certificates: checks, data and error rates of graders, as data that is exported with them."""

from workbench.report.certificates.digests import fingerprints_of
from workbench.report.certificates.making import certificate
from workbench.report.certificates.record import Certificate, comment_lines

__all__ = ["Certificate", "certificate", "comment_lines", "fingerprints_of"]
