"""Properties computed once, without a lock."""

import threading

from workbench.core.python_text import cached_property


class Slow:
    def __init__(self, wait=lambda: None):
        self.calls, self._wait = 0, wait

    @cached_property
    def value(self):
        """What is computed."""
        self.calls += 1
        self._wait()
        return 7


def test_a_value_is_computed_once():
    """And is kept in the object; the class gives the property itself."""
    slow = Slow()
    assert (slow.value, slow.value, slow.calls, slow.__dict__["value"]) == (7, 7, 1, 7)
    assert Slow.value.__doc__ == "What is computed."


def test_nobody_waits_for_another_thread():
    """While one thread computes, all others can: a fork at that moment leaves no lock that is never given back."""
    entered, gate = threading.Event(), threading.Event()

    def wait():
        entered.set()
        gate.wait(600)

    slow = Slow(wait)
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    assert entered.wait(600)
    assert Slow().value == 7
    gate.set()
    thread.join()
