"""Properties computed once, without a lock that a fork could take along."""

from __future__ import annotations

import functools
from typing import Any, TypeVar, overload

__all__ = ["cached_property"]

Value = TypeVar("Value")


class cached_property(functools.cached_property[Value]):  # noqa: N801 (used like the one of functools)
    """`functools.cached_property` as it is from Python 3.12 on: without a lock.

    In 3.11 one lock for all objects is held while a value is computed. A process that forks at that moment, in another
    thread, has a child in which nobody ever gives it back. Two threads may compute a value twice; the last one stays.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> cached_property[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Value: ...

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        """The value, kept in the object's own dict."""
        if instance is None:
            return self
        values = instance.__dict__
        assert self.attrname is not None
        if self.attrname not in values:
            values[self.attrname] = self.func(instance)
        return values[self.attrname]
