"""Asking a notebook's kernel itself, past the page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.browser.page import Notebook

_ASK = """code => new Promise((done, refuse) => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const future = kernel.requestExecute({code});
  future.onIOPub = message => {
    if (message.header.msg_type === 'stream') done(message.content.text);
    if (message.header.msg_type === 'error') refuse(new Error(message.content.evalue));
  };
})"""


def ask(notebook: Notebook, expression: str) -> Any:
    """The value of an expression in the kernel, which JSON must be able to hold."""
    code = f"import json\nprint(json.dumps({expression}))"
    return json.loads(notebook.page.evaluate(_ASK, code))
