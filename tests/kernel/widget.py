"""A widget as a page knows it, and what a user can do with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tests.kernel.messages import plain, references, take_buffers

if TYPE_CHECKING:
    from tests.kernel.harness import Kernel


class Widget:
    """One widget: `widget["value"]` reads its state; `click`, `set` and `send` change it as a user does.

    Attributes:
        model: The model's id, which is its comm's.
        state: What the kernel said last, and what was set here since. Bytes are in their place.
        customs: Custom messages received: (content, buffers).
        closed: Whether the kernel closed it.
    """

    def __init__(self, kernel: Kernel, model: str, state: dict[str, Any]) -> None:
        self._kernel, self.model, self.state = kernel, model, state
        self.customs: list[tuple[Any, list[bytes]]] = []
        self.closed = False

    def __getitem__(self, name: str) -> Any:
        return self.state[name]

    @property
    def name(self) -> str:
        """The class: `Button`, `HTML`, or an anywidget's own, as `Chart`."""
        own = self.state.get("_anywidget_id", "")
        return own.rpartition(".")[2] or str(self.state.get("_model_name", "")).removesuffix("Model")

    @property
    def classes(self) -> list[str]:
        """CSS classes given by `add_class`."""
        return list(self.state.get("_dom_classes", ()))

    @property
    def children(self) -> list[Widget]:
        """Widgets directly inside, in order; layouts and styles are not among them."""
        known = self._kernel.widgets
        return [known[model] for model in references(self.state.get("children", ())) if model in known]

    def tree(self) -> list[Widget]:
        """This widget and everything inside, in reading order."""
        return [self, *(inner for child in self.children for inner in child.tree())]

    @property
    def hidden(self) -> bool:
        """Whether its own layout takes it off the page."""
        layout = self._kernel.widgets.get(next(references(self.state.get("layout")), ""))
        return layout is not None and (
            layout.state.get("display") == "none" or layout.state.get("visibility") == "hidden"
        )

    def text(self) -> str:
        """All words in it that are not hidden, a line for each widget: descriptions, values, titles, choices.

        HTML reads as its reader sees it. Every tab counts, chosen or not.
        """
        if self.hidden:
            return ""
        return "\n".join(filter(None, [self._words(), *(child.text() for child in self.children)]))

    def _words(self) -> str:
        state = self.state
        found = [state.get("description"), state.get("value"), *(state.get("titles") or ())]
        if "_options_labels" in state and (at := state.get("index")) is not None:
            found += [state["_options_labels"][i] for i in (at if isinstance(at, list) else [at])]
        words = [str(one) for one in found if isinstance(one, str | int | float) and one is not True]
        return " ".join(filter(None, map(plain, words) if self.name.startswith("HTML") else words))

    def click(self, *, wait: bool = True) -> None:
        """Press it: a Button.

        Args:
            wait: Until the kernel has handled it.

        Raises:
            AssertionError: It is closed, disabled or hidden: nobody can press it.
        """
        assert not self.closed, f"{self}: closed"
        assert not self.state.get("disabled"), f"{self}: disabled"
        assert not self.hidden, f"{self}: hidden"
        self.send({"event": "click"}, wait=wait)

    def set(self, *, wait: bool = True, **state: Any) -> None:
        """Change traits as the page does; bytes go beside the JSON."""
        self.state.update(state)
        rest, paths, buffers = take_buffers(state)
        self._tell({"method": "update", "state": rest, "buffer_paths": paths}, buffers, wait=wait)

    def send(self, content: Any, buffers: Sequence[bytes] = (), *, wait: bool = True) -> None:
        """Send a custom message, as `model.send(content, callbacks, buffers)` of a page does."""
        self._tell({"method": "custom", "content": content}, buffers, wait=wait)

    def _tell(self, data: dict[str, Any], buffers: Sequence[bytes], *, wait: bool) -> None:
        self._kernel.tell("comm_msg", {"comm_id": self.model, "data": data}, buffers, wait=wait)

    def __repr__(self) -> str:
        marks = [f".{name}" for name in self.classes] + [repr(self.state.get("description", ""))]
        return f"<{' '.join([self.name, *marks, self.model[:6]])}>"
