"""A front end without a browser: a real kernel, its cells and its widgets' messages.

    with started(folder) as kernel:                  # of tests/kernel/starting.py; or the fixture `kernel`
        kernel.run("import ipywidgets as w; b = w.Button(description='Run'); b.add_class('wb-run'); b")
        button = kernel.find("wb-run")
        button.click()
        kernel.wait(lambda: button["description"] == "Done", what="the run ends")
        assert kernel.lost == []

It keeps every model's state as a page does, sends what a page sends, and sees what a page would show nowhere.
Nothing here sleeps: everything waits on the kernel's messages.
"""

from __future__ import annotations

import ast
import json
import queue
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.kernel.messages import Cell, Output, put_buffers, size
from tests.kernel.widget import Widget

if TYPE_CHECKING:
    import psutil

SECONDS = 600.0
NUDGE_SECONDS = 3.0
"""Silence after which the kernel and its subshell are asked what they are, and somebody else connects. ipykernel 7.4 was seen, on
a busy machine, to sleep on a message to a subshell until the next one came to that subshell; and on one to the kernel until
another front end connected, whatever this one sent."""
TARGET, CONTROL = "jupyter.widget", "jupyter.widget.control"
IN_SUBSHELL = {"comm_open", "comm_msg", "comm_close", "kernel_info_request"}
"""Messages that go to the subshell where there is one."""
NOISE = ("Kernel is running over TCP without encryption",)
"""What a kernel writes to its own stderr anyway."""
CLEAR = """
def _clear():
    import sys
    from IPython import get_ipython
    if "ipywidgets" in sys.modules:
        from ipywidgets import Widget
        for value in list(get_ipython().user_ns.values()):
            if isinstance(value, Widget):
                value.close()
        Widget.close_all()
    get_ipython().reset(new_session=True)

_clear()
"""
"""Closes all widgets, an app by itself first so that its run ends, and forgets every name."""


class Traffic(NamedTuple):
    """What the kernel has sent about widgets and outputs: messages, and bytes of content and buffers."""

    messages: int
    bytes: int

    def __sub__(self, before: Traffic) -> Traffic:
        return Traffic(self.messages - before.messages, self.bytes - before.bytes)


class Kernel:
    """A running kernel and the page in front of it.

    Args:
        manager: Of the running kernel.
        client: A blocking one, ready.
        log: The file with what the process writes by itself.

    Attributes:
        widgets: Every widget the page knows, by model id; closed ones are gone.
        outputs: Everything put out so far, wherever it landed.
        traffic: What was received about widgets and outputs so far; take a difference.
    """

    def __init__(self, manager: Any, client: Any, log: Path) -> None:
        self.manager, self._client, self._log = manager, client, log
        self.widgets: dict[str, Widget] = {}
        self.outputs: list[Output] = []
        self.traffic = Traffic(0, 0)
        self._cells: dict[str, Cell] = {}
        self._idle: set[str] = set()
        self._states: dict[str, Any] = {}
        self._subshell: str | None = None
        self._log_start = log.stat().st_size

    def start(self, code: str) -> Cell:
        """Send a cell, without waiting for it."""
        return self._execute(Cell(len(set(self._cells.values())) + 1, code))

    def run(self, code: str, *, check: bool = True, seconds: float = SECONDS) -> Cell:
        """Run a cell to its end.

        Raises:
            AssertionError: It failed, and `check` was not turned off.
            TimeoutError: It did not end.
        """
        return self.finish(self.start(code), check=check, seconds=seconds)

    def rerun(self, cell: Cell, *, check: bool = True, seconds: float = SECONDS) -> Cell:
        """Run a cell again: what it showed before is off the page."""
        cell.outputs, cell.done = [], False
        return self.finish(self._execute(cell), check=check, seconds=seconds)

    def finish(self, cell: Cell, *, check: bool = True, seconds: float = SECONDS) -> Cell:
        """Wait until a started cell has ended."""
        self.wait(lambda: cell.done, what=f"{cell} ends", seconds=seconds)
        assert not (check and cell.errors), f"{cell}:\n{cell.errors[0].text}"
        return cell

    def value(self, expression: str) -> Any:
        """What an expression is in the kernel now, through JSON; no cell, no history, no output."""
        asked = {"it": f"__import__('json').dumps({expression})"}
        sent = self._client.execute("", silent=True, user_expressions=asked, allow_stdin=False)
        answer = self._reply(sent)["user_expressions"]["it"]
        assert answer["status"] == "ok", f"{expression}: {answer.get('ename')}: {answer.get('evalue')}"
        return json.loads(ast.literal_eval(answer["data"]["text/plain"]))

    def interrupt(self) -> None:
        """The stop button of a notebook."""
        self.manager.interrupt_kernel()

    def processes(self) -> list[psutil.Process]:
        """Everything the kernel started that is still there."""
        import psutil

        return psutil.Process(self.manager.provisioner.pid).children(recursive=True)

    def shown(self) -> list[Widget]:
        """Widgets displayed by the cells' outputs, in order."""
        models = [model for cell in self._cells.values() for model in cell.shown]
        return [self.widgets[model] for model in dict.fromkeys(models) if model in self.widgets]

    def all(
        self, css: str = "", *, name: str = "", description: str | None = None, under: Widget | None = None
    ) -> list[Widget]:
        """Widgets on the page that fit: displayed, or inside one displayed; in reading order.

        Args:
            css: A class given by `add_class`.
            name: The class's name, `Button` or `Chart`.
            description: The exact description.
            under: Only this one and those inside it, displayed or not.
        """
        roots = [under] if under else self.shown()
        found = {widget.model: widget for root in roots for widget in root.tree()}
        return [
            widget
            for widget in found.values()
            if (not css or css in widget.classes)
            and (not name or widget.name == name)
            and (description is None or widget.state.get("description") == description)
        ]

    def find(
        self, css: str = "", *, name: str = "", description: str | None = None, under: Widget | None = None
    ) -> Widget:
        """The one widget on the page that fits.

        Raises:
            LookupError: None or several do; it names what is there.
        """
        found = self.all(css, name=name, description=description, under=under)
        if len(found) == 1:
            return found[0]
        wanted = {"css": css, "name": name, "description": description}
        wanted = {key: value for key, value in wanted.items() if value}
        raise LookupError(f"{len(found)} widgets fit {wanted}; there: {found or self.all(under=under)}")

    def comms(self) -> set[str]:
        """Ids of the widgets' comms that are open, as the kernel itself says."""
        return set(self._reply(self._send("comm_info_request", {"target_name": TARGET}))["comms"])

    def reload(self) -> None:
        """Load the page anew: forget every state and ask the kernel for all of them, as a page does."""
        self.widgets.clear()
        comm = f"control-{time.monotonic_ns()}"
        opening = {"comm_id": comm, "target_name": CONTROL, "data": {}}
        self.tell("comm_open", opening, metadata={"version": "1.0.0"}, wait=False)
        self.tell("comm_msg", {"comm_id": comm, "data": {"method": "request_states"}}, wait=False)
        data, buffers = self.wait(lambda: self._states.get(comm), what="the widgets' states")
        for model, entry in data["states"].items():
            self.widgets[model] = Widget(self, model, entry["state"])
        for (model, _, *path), buffer in zip(data["buffer_paths"], buffers, strict=True):
            put_buffers(self.widgets[model].state, [path], [buffer])
        self.tell("comm_close", {"comm_id": comm, "data": {}})

    def use_subshell(self) -> bool:
        """Talk to widgets as JupyterLab does where the kernel has subshells: callbacks may run in another thread.

        Returns:
            Whether this kernel has them.
        """
        features = self._client.kernel_info(reply=True, timeout=SECONDS)["content"].get("supported_features")
        if "kernel subshells" not in (features or ()):
            return False
        session, channel = self._client.session, self._client.control_channel
        session.send(channel.socket, session.msg("create_subshell_request", {}))
        self._subshell = self._client.get_control_msg(timeout=SECONDS)["content"]["subshell_id"]
        return True

    def clear(self) -> bool:
        """Leave the kernel to another page as it was found: without widgets and names.

        Returns:
            Whether it can be used again: it lives, and all cells have ended.
        """
        if not self.manager.is_alive() or not all(cell.done for cell in self._cells.values()):
            return False
        self.run(CLEAR)
        if self._subshell:
            session, channel = self._client.session, self._client.control_channel
            session.send(
                channel.socket, session.msg("delete_subshell_request", {"subshell_id": self._subshell})
            )
            self._client.get_control_msg(timeout=SECONDS)
        return not self.comms()

    @property
    def lost(self) -> list[Output]:
        """Streams and errors that land in no cell's output, or in that of a cell that had ended.

        Those of callbacks, for one: a page shows them nowhere.
        """
        stray = [output for output in self.outputs if output.cell is None or output.late]
        return [output for output in stray if output.kind in {"stream", "error"}]

    @property
    def log(self) -> str:
        """What the kernel's process wrote past all messages since this page is there: crashes, warnings at its end."""
        lines = self._log.read_bytes()[self._log_start :].decode("utf-8", "replace").splitlines()
        return "\n".join(line for line in lines if line and not any(piece in line for piece in NOISE))

    def wait(self, condition: Callable[[], Any], *, what: str, seconds: float = SECONDS) -> Any:
        """Take in messages until a condition on what is known holds; its value.

        Args:
            condition: It must not ask the kernel (`value`, `comms`): those wait themselves.
            what: Is waited for; words for the error.
            seconds: At most.

        Raises:
            TimeoutError: It never did; the error names what is on the page and what was lost.
            RuntimeError: The kernel died.
        """
        end, heard = time.monotonic() + seconds, time.monotonic()
        while not (value := condition()):
            left = end - time.monotonic()
            if left < 0:
                words = "\n".join(widget.text() for widget in self.shown())
                raise TimeoutError(
                    f"{what}: not within {seconds} s\nlost: {self.lost}\non the page:\n{words}"
                )
            if self._next(min(1.0, left)):
                heard = time.monotonic()
            elif time.monotonic() - heard > NUDGE_SECONDS:
                self.nudge()
                heard = time.monotonic()
        return value

    def nudge(self) -> list[str]:
        """Ask the kernel what it is, and its subshell too: whichever sleeps on a message wakes. The ids of the questions."""
        self._connect_another()
        asked = [str(self._client.kernel_info())]
        if self._subshell:
            asked.append(self._send("kernel_info_request", {}))
        return asked

    def _connect_another(self) -> None:
        """Connect to the kernel's shell channel as another front end would, and leave again."""
        import zmq
        from zmq.utils.monitor import recv_monitor_message

        with self.manager.connect_shell() as another:
            another.linger = 0
            monitor = another.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
            if monitor.poll(1000):
                recv_monitor_message(monitor)
            another.disable_monitor()

    def tell(
        self,
        kind: str,
        content: dict[str, Any],
        buffers: Sequence[bytes] = (),
        *,
        metadata: dict[str, Any] | None = None,
        wait: bool = True,
    ) -> None:
        """Send a message about widgets; by default until the kernel has handled it."""
        sent = self._send(kind, content, buffers, metadata=metadata)
        if wait:
            self.wait(lambda: sent in self._idle, what=f"the kernel handles {kind} {content.get('data')}")

    def _execute(self, cell: Cell) -> Cell:
        self._cells[self._client.execute(cell.code, allow_stdin=False, stop_on_error=False)] = cell
        return cell

    def _send(
        self,
        kind: str,
        content: dict[str, Any],
        buffers: Sequence[bytes] = (),
        *,
        metadata: dict[str, Any] | None = None,
    ) -> str:
        session = self._client.session
        message = session.msg(kind, content, metadata=metadata)
        if self._subshell and kind in IN_SUBSHELL:
            message["header"]["subshell_id"] = self._subshell
        session.send(self._client.shell_channel.socket, message, buffers=list(buffers))
        return str(message["header"]["msg_id"])

    def _reply(self, sent: str) -> dict[str, Any]:
        """The content of the answer to a request; everything it caused has been taken in."""
        end = time.monotonic() + SECONDS
        while True:  # the answers to cells come by here too: their messages have told it all
            reply = self._client.get_shell_msg(timeout=max(0.0, end - time.monotonic()))
            if reply["parent_header"].get("msg_id") == sent:
                break
        self.wait(lambda: sent in self._idle, what="the kernel is idle again")
        return dict(reply["content"])

    def _next(self, seconds: float) -> bool:
        """Take in the next message; whether there was one."""
        try:
            message = self._client.get_iopub_msg(timeout=seconds)
        except queue.Empty:
            if not self.manager.is_alive():
                raise RuntimeError(f"the kernel died:\n{self.log[-3000:]}") from None
            return False
        self._take(message)
        return True

    def _take(self, message: dict[str, Any]) -> None:
        kind, content = message["msg_type"], message["content"]
        parent = message["parent_header"].get("msg_id", "")
        if kind == "status":
            self._settle(parent, content["execution_state"])
        elif kind in {"comm_open", "comm_msg", "comm_close"}:
            self._count(message)
            getattr(self, f"_{kind}")(content, message.get("buffers") or [])
        elif kind in {"stream", "error", "display_data", "execute_result"}:
            self._count(message)
            self._show(Output.read(kind, content), self._cells.get(parent))

    def _settle(self, parent: str, state: str) -> None:
        if state == "idle":
            self._idle.add(parent)
            if parent in self._cells:
                self._cells[parent].done = True

    def _count(self, message: dict[str, Any]) -> None:
        self.traffic = Traffic(self.traffic.messages + 1, self.traffic.bytes + size(message))

    def _show(self, output: Output, cell: Cell | None) -> None:
        if cell:
            output.cell, output.late = cell.number, cell.done
            cell.outputs.append(output)
        self.outputs.append(output)

    def _comm_open(self, content: dict[str, Any], buffers: list[Any]) -> None:
        if content["target_name"] == TARGET:
            state = content["data"]["state"]
            put_buffers(state, content["data"].get("buffer_paths", []), buffers)
            self.widgets[content["comm_id"]] = Widget(self, content["comm_id"], state)

    def _comm_msg(self, content: dict[str, Any], buffers: list[Any]) -> None:
        data, widget = content["data"], self.widgets.get(content["comm_id"])
        if data["method"] == "update_states":
            self._states[content["comm_id"]] = data, buffers
        elif widget and data["method"] in {"update", "echo_update"}:
            put_buffers(data["state"], data.get("buffer_paths", []), buffers)
            widget.state.update(data["state"])
        elif widget and data["method"] == "custom":
            widget.customs.append((data["content"], [bytes(buffer) for buffer in buffers]))

    def _comm_close(self, content: dict[str, Any], buffers: list[Any]) -> None:
        if widget := self.widgets.pop(content["comm_id"], None):
            widget.closed = True
