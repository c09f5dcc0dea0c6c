"""A session as the page shows it: plain JSON, named as in the front end's `protocol.ts`. It does not depend on widgets.

Every module here is loaded; those that define a mode register it.
"""

from __future__ import annotations

import sys

from workbench.core.discovery import load_modules

load_modules(sys.modules[__name__])
