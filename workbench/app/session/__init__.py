"""The state and actions of an app, as plain objects: graders, runs, labels, drafts, comparison, export."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
