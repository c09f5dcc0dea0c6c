"""Hostile scripts, rollouts and functions of other platforms, which give notes beside their numbers.

The attack is the middle one of three rows; the other two are graded decently by the same program. A case is
unsafe for the reasons `hostile.py` names, and also when a decent row lost its score or its note, when the
middle row did not end as the case says, or when a text or metadata came out that is not fit to be shown.

`python -m tests.sandbox.hostile_programs` prints how many cases are safe under each set of layers.
"""

from __future__ import annotations

import json
import math
import textwrap
from dataclasses import dataclass, field
from typing import Any

from tests.sandbox.hostile import ALWAYS, BROKE, EACH, LAYER_SETS, Arena, Stage
from workbench.core.display_text import HIDDEN
from workbench.core.thread import StringThread
from workbench.data.packed import Packed, pack
from workbench.data.row_columns import row_wire
from workbench.sandbox.child.protocol import MAX_NOTE
from workbench.sandbox.host.program import Limits, Program
from workbench.sandbox.host.results import MAX_DEPTH, MAX_REASONING

LIMITS = Limits(row_seconds=0.15, load_seconds=2.0, memory_mb=256, lost_workers=3)
_HEADS = {
    "javascript": """
{module}
function evaluate(input) {
  const n = input.metadata.n, BROKE = """ + repr(BROKE) + """;
  if (n === 1) {
{body}
  }
  return { score: n / 4, reason: 'r' + n };
}
""",
    "letta": """
from letta_evals.decorators import extractor, grader
from letta_evals.models import GradeResult
BROKE = """ + repr(BROKE) + """
{module}
@grader
def grade(sample, submission):
    n = sample.metadata["n"]
    if n == 1:
{body}
    return GradeResult(score=n / 4, rationale=f"r{n}")
""",
    "openai": """
BROKE = """ + repr(BROKE) + """
{module}
def grade(sample, item):
    n = item["n"]
    if n == 1:
{body}
    return n / 4
""",
    "osmosis": """
from osmosis_ai.utils import osmosis_reward
BROKE = """ + repr(BROKE) + """
{module}
@osmosis_reward
def grade(solution_str: str, ground_truth: str, extra_info: dict = None) -> float:
    n = extra_info["n"]
    if n == 1:
{body}
    return n / 4
""",
    "rollout": """
from osmosis_ai.rollout import Grader, GraderConfig, GraderContext, RolloutSample
BROKE = """ + repr(BROKE) + """
{module}
class Mine(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        n = ctx.metadata["n"]
        if n == 1:
{body}
        for name in ctx.samples:
            ctx.set_sample_reward(name, n / 4)
        ctx.set_artifacts({"r": f"r{n}"})
""",
}  # fmt: skip


@dataclass(frozen=True)
class Attack:
    """One attack of a program; `body` is what it does on the middle row, `module` stands above.

    Attributes:
        ends: How the middle row may end: error kinds, "scored" or "skipped", separated by spaces.
        others: How the decent rows may end when the attack is one on the whole program; "" for decently.
        stopped_by: As in `hostile.Case`.
    """

    family: str
    name: str
    body: str
    ends: str
    module: str = ""
    others: str = field(default="", kw_only=True)
    stopped_by: str = field(default=ALWAYS, kw_only=True)

    @property
    def open_without_locks(self) -> bool:
        """Whether it succeeds in a bare worker."""
        return self.stopped_by != ALWAYS

    def program(self, scene: Stage) -> Program:
        """What a worker is to load."""
        depth = 4 if self.family == "javascript" else 12 if self.family == "rollout" else 8
        body = textwrap.indent(textwrap.dedent(self.body).strip() or "pass", " " * depth)
        text = _HEADS[self.family].replace("{module}", textwrap.dedent(self.module)).replace("{body}", body)
        for key, value in scene.places.items():
            text = text.replace("{" + key + "}", str(value))
        language = self.family if self.family in {"javascript", "rollout"} else "python"
        signature = "thread" if language != "python" else self.family
        options = {"memory_mb": 16} if language == "javascript" else {}
        return Program(text, LIMITS, language=language, signature=signature, options=options)


class ProgramArena(Arena):
    """An arena whose rows carry references and ids."""

    def __init__(self, layers: tuple[str, ...]) -> None:
        super().__init__(layers)
        self.packed = _rows()

    def _repair(self) -> None:
        super()._repair()
        self.packed = _rows()

    def _attack(self, case: Any, scene: Stage) -> list[str]:
        program = case.program(scene)
        # A script is given threads; the arena's other programs are given rows.
        packed = _threads() if case.family == "javascript" else self.packed
        try:
            outcome = self.pool.run(program, packed, workers=1)
        except Exception as error:
            return [f"the host raised {type(error).__name__}: {str(error)[:200]}"]
        grades = outcome.grades
        told = [outcome.output, *grades.reasoning.values(), *(e.message for e in grades.errors.values())]
        told += [json.dumps(dict(note)) for note in grades.metadata.values()]
        found = [f"canary in {text[:60]!r}" for text in told if str(scene.canary) in text]
        found += [f"score {s}" for s in grades.scores if s in (BROKE, scene.canary, self.canary)]
        return found + _unfit(grades) + _misplaced(case, grades)

    def _next_run(self) -> list[str]:
        """A decent rollout in the same pool must see the rows and score them."""
        decent = Program(_HEADS["rollout"].replace("{module}", "").replace("{body}", " " * 12 + "pass"),
                         Limits(row_seconds=5, memory_mb=256), language="rollout")  # fmt: skip
        try:
            grades = self.pool.run(decent, self.packed, workers=1).grades
        except Exception as error:
            return [f"the next run raised {type(error).__name__}: {str(error)[:200]}"]
        right = list(grades.scores) == [0.0, 0.25, 0.5] and len(grades.metadata) == 3
        return [] if right else [f"the next run scored {list(grades.scores)} {grades.errors}"]


def _threads() -> Packed:
    return pack(StringThread([("user", "q"), ("assistant", str(i))], {"n": i}) for i in range(3))


def _rows() -> Packed:
    threads = (StringThread([("user", "q"), ("assistant", str(i))], {"n": i}) for i in range(3))
    return pack(
        (row_wire(thread, *row) for thread, row in zip(threads, zip("012", "abc", strict=True), strict=True)),
        extras=True,
    )


def _unfit(grades: Any) -> list[str]:
    """Texts and metadata that must not come out of a worker."""
    texts = [(error.message, 2000) for error in grades.errors.values()]
    texts += [(text, MAX_REASONING) for text in grades.reasoning.values()]
    found = [f"{len(text)} characters" for text, limit in texts if len(text) > limit]
    shown = [text for text, _ in texts]
    for note in grades.metadata.values():
        plain = json.dumps(note, ensure_ascii=False, allow_nan=False)
        shown += [plain]
        found += [f"a note of {len(plain)} characters"] if len(plain) > 2 * MAX_NOTE else []
        found += ["nested too deeply"] if _depth(note) > MAX_DEPTH + 2 else []
    return found + ["hidden characters" for text in shown if HIDDEN.search(text)]


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def _misplaced(case: Attack, grades: Any) -> list[str]:
    """Rows that did not end as they should, or have another row's note."""
    found = []
    for row in (0, 2):
        end = _end(grades, row)
        decent = end == "scored" and math.isclose(grades.scores[row], row / 4) and _note_is(case, grades, row)
        if not decent and end not in case.others.split():
            found.append(f"row {row} ended {end} {grades[row]}")
    if _end(grades, 1) not in case.ends.split():
        found.append(f"the attack ended {_end(grades, 1)}: {str(grades[1])[:300]}")
    return found


def _end(grades: Any, row: int) -> str:
    grade = grades[row]
    return grade.error.kind.value if grade.error else "skipped" if grade.score is None else "scored"


def _note_is(case: Attack, grades: Any, row: int) -> bool:
    if case.family == "rollout":
        return bool(grades.metadata[row]["artifacts"] == {"r": f"r{row}"})
    if case.family in {"openai", "osmosis"}:
        return row not in grades.reasoning and row not in grades.metadata
    return bool(grades.reasoning.get(row) == f"r{row}")


def _many(family: str, *cases: tuple[str, ...]) -> list[Attack]:
    return [Attack(family, *case) for case in cases]


_JAVASCRIPT = [
    *_many(
        "javascript",
        ("endless loop", "for (;;) {}", "timeout"),
        ("endless recursion", "(function f() { return f() + 1; })()", "runtime"),
        ("endless toString of what is thrown", "throw { get message() { return ''; }, toString() { for (;;) {} } };", "timeout"),
        ("endless getter of what is thrown", "throw { get name() { for (;;) {} } };", "timeout"),
        ("endless getter of the result", "return { get score() { for (;;) {} } };", "timeout"),
        ("endless proxy", "return new Proxy({}, { get() { for (;;) {} }, ownKeys() { for (;;) {} } });", "timeout"),
        ("proxy that answers without end", "return new Proxy({score: 1}, { ownKeys() { return Array.from({length: 1e6}, (_, i) => 'k' + i); } });", "timeout memory runtime scored"),
        ("revoked proxy", "const p = Proxy.revocable({}, {}); p.revoke(); return p.proxy;", "runtime return_type"),
        ("revoked proxy behind a promise", "const p = Proxy.revocable({}, {}); p.revoke(); return Promise.resolve(1).then(() => p.proxy);", "runtime return_type"),
        ("promise that never settles", "return new Promise(() => {});", "runtime"),
        ("promise that settles itself for ever", "return (async () => { for (;;) await 0; })();", "timeout"),
        ("a job that never ends", "return Promise.resolve().then(() => { for (;;) {} });", "timeout"),
        ("a then that never ends", "return { get then() { for (;;) {} } };", "timeout"),
        ("a thenable that answers twice", "return { then(yes) { yes(0.5); yes(0.75); } };", "scored"),
        ("jobs left behind for the next row", "(async () => { for (;;) await 0; })(); return Promise.resolve({score: 0.25, reason: 'mine'});", "scored"),
        ("an answer for the next row", "globalThis.late = Promise.resolve().then(() => ({score: 1, reason: 'forged'})); return new Promise(() => {});", "runtime"),
        ("slow pattern", "return /(a+)+$/.test('a'.repeat(40) + 'b') ? 1 : 0;", "timeout"),
        ("huge BigInt", "return Number(7n ** (7n ** 9n));", "timeout memory runtime not_finite"),
        ("huge text", "return 'x'.repeat(2 ** 30).length;", "memory runtime"),
        ("typed array of a GiB", "return new Float64Array(2 ** 27).length;", "memory runtime"),
        ("memory in pieces", "const all = []; for (;;) all.push(new Array(1000).fill(n));", "memory timeout runtime"),
        ("memory in a global", "globalThis.all = []; for (;;) globalThis.all.push('x'.repeat(1000) + globalThis.all.length);", "memory timeout runtime"),
        ("a result that holds itself", "const r = {score: 0.25, reason: 'x'}; r.self = r; return r;", "scored"),
        ("a result with a BigInt", "return {score: 0.25, big: 10n ** 50n};", "scored"),
        ("a result nested a hundred thousand deep", "let r = 1; for (let i = 0; i < 1e5; i++) r = [r]; return {score: 0.25, r};", "scored"),
        ("a result nested as deep as Python may go", "let r = 1; for (let i = 0; i < 3000; i++) r = [r]; return {score: 0.25, r};", "scored"),
        ("a result of two megabytes", "return {score: 0.25, x: 'é'.repeat(1e6)};", "scored"),
        ("a reason of ten megabytes", "return {score: 0.25, reason: 'x'.repeat(1e6)};", "scored"),
        ("a reason that hurts a terminal", "return {score: 0.25, reason: '\\x1b]0;x\\x07\\u202e\\ud800<script>'.repeat(9), '\\u202ekey': '\\x1b[2J'};", "scored"),
        ("a toJSON that loops", "return {score: 0.25, x: {toJSON() { for (;;) {} }}};", "timeout"),
        ("a score that is text", "return {score: '1', reason: 'x'};", "return_type"),
        ("a score by valueOf", "return {score: {valueOf() { return 1; }}};", "return_type"),
        ("a score that is no number", "return NaN;", "not_finite"),
        ("a score that is endless", "return {score: Infinity, reason: 'x'};", "not_finite"),
        ("a throw of an error from the engine's mouth", "throw new InternalError('out of memory');", "memory runtime"),
        ("a throw that says interrupted", "throw new InternalError('interrupted');", "runtime timeout"),
        ("JSON replaced", "JSON.stringify = () => '{\"type\":\"result\",\"first\":\"1\"}'; JSON.parse = () => 5; return {score: 0.25};", "scored"),
        ("prototypes replaced", "Object.prototype.toJSON = () => 9; Array.prototype.toJSON = () => 9; String.prototype.toJSON = () => 9; Object.prototype.score = 1; return {score: 0.25};", "scored"),
        ("the promise's own then replaced", "Promise.prototype.then = () => { throw 1; }; Promise.prototype.constructor = function () {}; return Promise.resolve(0.25);", "scored runtime"),
        ("its own function replaced", "globalThis.evaluate = () => ({score: 1, reason: 'other'}); return {score: 0.25};", "scored"),
        ("console flooded", "for (let i = 0; i < 1e4; i++) console.log('x'.repeat(1000)); return 0.25;", "scored timeout"),
        ("console that hurts a terminal", "console.log('\\x1b]0;x\\x07\\u202e\\ud800\\0'); return 0.25;", "scored"),
        ("console with a loop", "console.log({toJSON() { for (;;) {} }});", "timeout"),
        ("waits on shared memory", "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); return 0.25;", "runtime timeout"),
        ("finalizers", "globalThis.f = new FinalizationRegistry(() => { for (;;) {} }); for (let i = 0; i < 1e4; i++) f.register({}, i); return 0.25;", "scored timeout"),
        ("dynamic import", "return import('/etc/passwd').then(() => BROKE);", "runtime"),
        ("the host's names", "for (const name of ['std', 'os', 'require', 'process', 'python', 'Deno', 'fetch', 'load', 'print', 'scriptArgs']) if (name in globalThis) return BROKE; return 0.25;", "scored"),
        ("a generator that never ends", "return [...(function* () { for (;;) yield 1; })()].length;", "memory timeout runtime"),
        ("an async generator", "return (async function* () { yield 1; })();", "return_type"),
        ("sort without end", "return [3, 2, 1].sort(() => { for (;;) {} }).length;", "timeout"),
        ("forged error texts", "const e = new Error('x\\u202e\\x1b[31m'.repeat(1e5)); e.stack = '<input>:1:1\\n'.repeat(1e5); throw e;", "runtime"),
    ),
    Attack("javascript", "endless top level", "", "load", "for (;;) {}", others="load"),
    Attack("javascript", "top level closed and opened again", "", "load", "}); globalThis.x = 1; (function () {", others="load"),
    Attack("javascript", "a name that changes its mind", "", "load return_type runtime timeout", "let k = 0; Object.defineProperty(globalThis, 'grade', {get() { return k++ % 2 ? 5 : () => 1; }});", others="scored load runtime return_type"),
    Attack("javascript", "a slow top level and a time-out", "for (;;) {}", "timeout", "const t = Date.now(); while (Date.now() - t < 900) {}"),
]  # fmt: skip
_PYTHON = [
    *_many(
        "letta",
        ("a score set to None afterwards", "r = GradeResult(score=0.5)\nr.score = None\nreturn r", "return_type"),
        ("a score of another type", "r = GradeResult(score=0.5)\nr.score = '1'\nreturn r", "return_type"),
        ("a score above one set afterwards", "r = GradeResult(score=0.5)\nr.score = 7\nreturn r", "out_of_range"),
        ("a class of its own for the score", "class F(float):\n    pass\nr = GradeResult(score=0.5)\nr.score = F(1)\nreturn r", "return_type scored"),
        ("a result class of its own", "class R(GradeResult):\n    score = property(lambda self: BROKE)\n    def __init__(self):\n        self.rationale = None\n        self.metadata = {}\n        self.per_turn_grades = None\nreturn R()", "out_of_range return_type"),
        ("a rationale that is no plain text", "class T(str):\n    def __getitem__(self, i):\n        raise SystemExit\nreturn GradeResult(score=0.25, rationale=T('x' * 300000))", "scored runtime"),
        ("metadata that loops when read", "class D(dict):\n    def items(self):\n        while True:\n            pass\n    __iter__ = items\n    keys = items\nreturn GradeResult(score=0.25, metadata={'d': D(a=1)})", "timeout scored"),
        ("metadata that holds itself", "d = {}\nd['d'] = d\nreturn GradeResult(score=0.25, metadata=d)", "scored"),
        ("metadata nested deeply", "d = {}\nfor _ in range(900):\n    d = {'d': d}\nreturn GradeResult(score=0.25, metadata=d)", "scored"),
        ("metadata with a number of many digits", "return GradeResult(score=0.25, metadata={'n': 10 ** 5000})", "scored"),
        ("metadata with a number of many digits allowed", "import sys\nsys.set_int_max_str_digits(0)\nreturn GradeResult(score=0.25, metadata={'n': 10 ** 5000})", "scored"),
        ("metadata that hurts a terminal", "return GradeResult(score=0.25, rationale='\\x1b]0;x\\x07\\u202e\\ud800', metadata={'\\x1b[2J': ['\\u202e', '\\ud800']})", "scored"),
        ("a generator", "return (x for x in ())", "return_type"),
        ("an awaitable that never ends", "import asyncio\nreturn asyncio.Event().wait()", "runtime"),
        ("a coroutine that swallows its end", "async def f():\n    import asyncio\n    while True:\n        try:\n            await asyncio.sleep(0)\n        except BaseException:\n            pass\nreturn f()", "timeout runtime"),
    ),
    Attack("letta", "the classes of ours replaced", "import letta_evals.models as m\nm.GradeResult = None\nGradeResult.__init__ = lambda self, **k: self.__dict__.update(score=99, rationale='x', metadata={}, per_turn_grades=None)\nreturn GradeResult(score=99)", "out_of_range", others="out_of_range"),
    Attack("letta", "reads a file", "return GradeResult(score=0.25, rationale=open('{FILE}').read())", "runtime", stopped_by=EACH),
    Attack("letta", "reads a file while decorated", "return GradeResult(score=0.25, metadata={'x': DATA})", "load", "DATA = open('{FILE}').read()", others="load", stopped_by=EACH),
    *_many(
        "openai",
        ("a class of its own", "class F(float):\n    pass\nreturn F(1)", "return_type"),
        ("None", "return None", "return_type"),
        ("the worker's own class of notes", "import sys\nf = sys._getframe()\nwhile 'Noted' not in f.f_globals:\n    f = f.f_back\nreturn f.f_globals['Noted'](0.25, {'reasoning': 'x' * 10 ** 6, 'metadata': {'a': 'b' * 10 ** 6}})", "scored return_type"),
        ("a reply that did nothing", "import os, struct, json, sys\nf = sys._getframe()\nwhile f:\n    c = f.f_locals.get('command')\n    if isinstance(c, dict) and 'seq' in c:\n        t = json.dumps({'notes': [], 'done': 0}).encode()\n        os.write(4, struct.pack('{HEADER}', {MAGIC}, c['seq'], len(t)) + t)\n        os._exit(0)\n    f = f.f_back", "crash runtime"),
        ("item changed", "item.clear()\nsample.clear()\nreturn 0.25", "scored"),
    ),
    Attack("openai", "a reply with notes for other rows", "import os, struct, json, sys\nf = sys._getframe()\nwhile f:\n    for d in (f.f_locals,):\n        c = d.get('command')\n        if isinstance(c, dict) and 'seq' in c:\n            t = json.dumps({'notes': [[r, {'reasoning': 'forged', 'metadata': {'x': 1}}] for r in (-1, 3, 10 ** 9, True, 'a', None)] + [5, [1], [1, 2], [1, None]], 'done': 3, 'errors': []}).encode()\n            os.write(4, struct.pack('{HEADER}', {MAGIC}, c['seq'], len(t)) + t)\n            os._exit(0)\n    f = f.f_back", "crash runtime scored", others="runtime"),
    *_many(
        "osmosis",
        ("an int where a float is due", "return 1", "runtime return_type"),
        ("a float of its own", "class F(float):\n    pass\nreturn F(1)", "return_type"),
        ("metadata changed", "extra_info.clear()\nreturn 0.25", "scored"),
    ),
    *_many(
        "rollout",
        ("a sample of its own", "ctx.samples['forged'] = RolloutSample('forged', reward=1.0)", "scored"),
        ("samples removed", "ctx.samples.clear()\nreturn", "runtime"),
        ("samples replaced by what is no dict", "ctx.samples = 5\nreturn", "runtime return_type"),
        ("samples that loop", "class D(dict):\n    def items(self):\n        while True:\n            pass\nctx.samples = D(ctx.samples)\nreturn", "timeout"),
        ("a reward that is no number", "for s in ctx.samples.values():\n    s.reward = '1'\nreturn", "return_type"),
        ("a reward of a class of its own", "class F(float):\n    def __float__(self):\n        return float('nan')\nfor s in ctx.samples.values():\n    s.reward = F(0.25)\nreturn", "not_finite return_type scored"),
        ("a huge reward", "for s in ctx.samples.values():\n    s.reward = 10 ** 400\nreturn", "not_finite return_type runtime"),
        ("a reward that is not finite", "for s in ctx.samples.values():\n    s.reward = float('nan')\nreturn", "not_finite"),
        ("rewards whose sum is not finite", "ctx.samples = {str(i): RolloutSample(str(i), reward=1.7e308) for i in range(5)}\nreturn", "not_finite runtime"),
        ("thousands of samples", "ctx.samples = {str(i) * 9: RolloutSample(str(i), reward=0.25) for i in range(5000)}\nreturn", "scored"),
        ("sample ids that are no text", "ctx.samples = {(1, 2): RolloutSample('a', reward=0.25)}\nreturn", "scored runtime"),
        ("sample ids that hurt a terminal", "ctx.samples = {'\\x1b[2J\\u202e\\ud800': RolloutSample('a', reward=0.25)}\nreturn", "scored"),
        ("an exception with the same", "raise ValueError('\\x1b]0;x\\x07\\u202e\\ud800' * 3000)", "runtime"),
        ("artifacts that loop when read", "class D(dict):\n    def items(self):\n        while True:\n            pass\nctx.artifacts = {'d': D(a=1)}\nfor s in ctx.samples.values():\n    s.reward = 0.25\nreturn", "timeout scored"),
        ("artifacts of a megabyte", "ctx.artifacts = {'x': 'a' * 2 ** 20}\nfor s in ctx.samples.values():\n    s.reward = 0.25\nreturn", "scored"),
        ("artifacts with a number of many digits", "import sys\nsys.set_int_max_str_digits(0)\nctx.artifacts = {'n': 10 ** 6000}\nfor s in ctx.samples.values():\n    s.reward = 0.25\nreturn", "scored"),
        ("removes itself", "for s in ctx.samples.values():\n    s.reward, s.remove_sample = 1.0, True\nreturn", "skipped"),
        ("time-out swallowed", "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass", "timeout"),
        ("a time-out of its own", "raise TimeoutError('\\u202e')", "timeout"),
        ("a verdict of the worker's", "import sys\nf = sys._getframe()\nwhile f:\n    if 'Refused' in f.f_globals:\n        raise f.f_globals['Refused']('nonsense', '\\u202e' * 9000)\n    f = f.f_back", "runtime"),
        ("exits", "import os\nos._exit(0)", "crash"),
    ),
    Attack("rollout", "the context's class replaced", "import osmosis_ai.rollout as o\no.GraderContext = None\nGraderContext.set_sample_reward = lambda self, i, r: None\nreturn", "runtime", others="runtime"),
    Attack("rollout", "reads a file", "ctx.metadata['x'] = open('{FILE}').read()\nraise ValueError(ctx.metadata['x'])", "runtime", stopped_by=EACH),
    Attack("rollout", "starts a process", "import os\nos.system('touch {DIR}/made')", "runtime scored", stopped_by=EACH),
    Attack("rollout", "speaks to a listener", "import socket\nsocket.create_connection(('127.0.0.1', {PORT}), 1)", "runtime", stopped_by=EACH),
    Attack("rollout", "a config that loops", "", "load", "class C(GraderConfig):\n    pass\nclass Loop:\n    def __deepcopy__(self, memo):\n        while True:\n            pass\nclass D(GraderConfig):\n    x: int = Loop()\nD(name='x')", others="load"),
    Attack("rollout", "a class whose making kills", "", "crash load timeout cancelled", "import os\nclass Other(Grader):\n    def __init_subclass__(cls, **k):\n        os._exit(0)\n    async def grade(self, ctx):\n        pass\nclass Third(Other):\n    pass", others="crash load cancelled"),
]  # fmt: skip
CASES = [*_JAVASCRIPT, *_PYTHON]


def main() -> None:
    """Print safe cases a family and layer set."""
    print(f"{'family':<12}{'cases':>6}{'alive':>6}" + "".join(f"{name:>18}" for name in LAYER_SETS))
    safe = {}
    for name, layers in LAYER_SETS.items():
        with ProgramArena(layers) as arena:
            safe[name] = {case for case in CASES if not arena.wounds(case)}
    for family in [*dict.fromkeys(case.family for case in CASES), "all"]:
        cases = [case for case in CASES if family in {case.family, "all"}]
        alive = sum(case.open_without_locks for case in cases)
        counts = [sum(case in found for case in cases) for found in safe.values()]
        print(f"{family:<12}{len(cases):>6}{alive:>6}" + "".join(f"{count:>18}" for count in counts))


if __name__ == "__main__":
    main()
