"""Graders over HTTP: one server that implements the wire forms of trainers and platforms; one file per form in `wire_forms`.

Starlette and uvicorn, the extra `serve`, are loaded on use.
"""

from __future__ import annotations

from workbench.core.discovery import load_modules
from workbench.deploy.serve import wire_forms
from workbench.deploy.serve.app import create_app, serve
from workbench.deploy.serve.http import RequestLimits
from workbench.deploy.serve.wire_forms import WIRE_FORMS, WireForm, wire_form

# Wire forms are found by import: every module in `wire_forms` registers its form.
load_modules(wire_forms)

__all__ = ["WIRE_FORMS", "RequestLimits", "WireForm", "create_app", "serve", "wire_form"]
