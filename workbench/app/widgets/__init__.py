"""The notebook views: `Workbench`, and each of its parts as a separate view. Everything loads on first use."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
