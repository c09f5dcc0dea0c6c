"""Certificates: checks, data and error rates of graders, as data that is exported with them."""

from workbench.certificates.digests import fingerprints_of
from workbench.certificates.making import certificate
from workbench.certificates.record import Certificate
from workbench.certificates.words import comment_lines

__all__ = ["Certificate", "certificate", "comment_lines", "fingerprints_of"]
