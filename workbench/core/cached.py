"""Properties computed once, without a lock that a fork could copy in the locked state."""

from __future__ import annotations

import functools
from typing import Any, TypeVar, overload

Value = TypeVar("Value")


class cached_property(functools.cached_property[Value]):  # noqa: N801 (used like the one of functools)
    """`functools.cached_property` with the behaviour of Python 3.12: without a lock.

    In 3.11 one lock for all objects is locked while a value is computed. If another thread forks the process at that
    moment, the lock is never released in the child. Two threads may compute a value twice; the last one is stored.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> cached_property[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Value: ...

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        """The value, stored in the object's dict."""
        if instance is None:
            return self
        values = instance.__dict__
        assert self.attrname is not None
        if self.attrname not in values:
            values[self.attrname] = self.func(instance)
        return values[self.attrname]
