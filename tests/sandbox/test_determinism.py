"""State and chance in a grader: seen in the text, and in a second call of the same rows in another order."""

import pytest

import workbench as wb
from tests.sandbox.test_validate import validate_text
from workbench.core.thread import StringThread
from workbench.sandbox.host.zygote import engine_path

THREADS = [StringThread([("user", "q"), ("assistant", text)], {}) for text in ("one", "two words", "")]

TOLD = {
    "a global that is written": """
n=0
async def grade(thread):
    global n
    n+=1
    return float(n%2)
""",
    "a list that grows": """
seen=[]
async def grade(thread):
    seen.append(1)
    return 1.0 if len(seen)<4 else 0.0
""",
    "a set of what was seen": """
SEEN=set()
async def grade(thread):
    t=thread.completion()
    if t in SEEN:
        return 0.0
    SEEN.add(t)
    return 1.0
""",
    "a dict of what was seen": """
SEEN={}
async def grade(thread):
    t=thread.completion()
    if t in SEEN:
        return 0.0
    SEEN[t]=True
    return 1.0
""",
    "a counter": """
from collections import Counter
C=Counter()
async def grade(thread):
    C[thread.completion()]+=1
    return 1.0/C[thread.completion()]
""",
    "an attribute of the function": """
async def grade(thread):
    grade.calls=getattr(grade,'calls',0)+1
    return float(grade.calls>2)
""",
    "a default that grows": """
def h(t, seen=[]):
    seen.append(t)
    return len(seen)
async def grade(thread):
    return float(h(thread.completion()))
""",
    "an iterator that goes on": """
import itertools
N=itertools.count()
async def grade(thread):
    return float(next(N))
""",
    "a generator of random numbers": """
import random
R=random.Random(0)
async def grade(thread):
    return R.random()
""",
    "random": """
import random
async def grade(thread):
    return random.random()
""",
    "random under another name": """
async def grade(thread):
    from random import choice as c
    return c([0.0,1.0])
""",
    "random seeded once": """
import random
random.seed(0)
async def grade(thread):
    return random.random()
""",
    "the clock": """
import time
async def grade(thread):
    return float(int(time.time()*1e6)%2)
""",
    "the date": """
from datetime import datetime
async def grade(thread):
    return float(datetime.now().microsecond)
""",
    "uuid": """
import uuid
async def grade(thread):
    return float(uuid.uuid4().int%2)
""",
    "urandom": """
import os
async def grade(thread):
    return float(os.urandom(1)[0])
""",
    "hash of a text": """
async def grade(thread):
    return float(hash(thread.completion())%2)
""",
    "an id": """
async def grade(thread):
    return float(id(thread)%7)
""",
    "the first of a set": """
async def grade(thread):
    return float(len(next(iter(set(thread.completion().split())))))
""",
    "random while the module loads": """
import random
X=random.random()
async def grade(thread):
    return X
""",
}

HEALTHY = {
    "lru": """
import functools
@functools.lru_cache
def f(t):
    return float(len(t))
async def grade(thread):
    return f(thread.completion())
""",
    "tables": """
import re
T={'a':1,'b':2}
P=re.compile('x')
W=['a']
S={'x','y'}
async def grade(thread):
    w=thread.completion().split()
    return float(sum(T.get(x,0) for x in w)+ (P.search('x') is not None) + sum(x in S for x in w) + len([v for v in W]))
""",
    "localset": """
async def grade(thread):
    seen=set()
    n=0
    for w in thread.completion().split():
        if w in seen:
            n+=1
        seen.add(w)
    return float(n)
""",
    "memo": """
CACHE={}
def f(t):
    if t not in CACHE:
        CACHE[t]=float(len(t))
    return CACHE[t]
async def grade(thread):
    return f(thread.completion())
""",
    "memotrim": """
CACHE={}
def f(t):
    if t not in CACHE:
        if len(CACHE)>100:
            CACHE.clear()
        CACHE[t]=float(len(t))
    return CACHE[t]
async def grade(thread):
    return f(thread.completion())
""",
    "lazy": """
T=None
def table():
    global T
    if T is None:
        T={'a':1}
    return T
async def grade(thread):
    return float(table().get('a'))
""",
    "seeded": """
import random
async def grade(thread):
    r=random.Random(thread.completion())
    return r.random()
""",
    "seeded2": """
import random
async def grade(thread):
    random.seed(thread.completion())
    return random.random()
""",
    "setfor": """
async def grade(thread):
    words=set(thread.completion().split())
    return float(sum(1 for w in words if w in 'abc')) + len(words)
""",
    "class": """
class P:
    def __init__(self):
        self.n=0
    def add(self):
        self.n+=1
        return self.n
async def grade(thread):
    p=P()
    p.add()
    return float(p.n)
""",
    "parser": """
from html.parser import HTMLParser
class P(HTMLParser):
    def __init__(self):
        super().__init__()
        self.parts=[]
    def handle_data(self,d):
        self.parts.append(d)
async def grade(thread):
    p=P()
    p.feed(thread.completion())
    return float(len(p.parts))
""",
    "sortedset": """
async def grade(thread):
    return float(len(sorted(set(thread.completion().split() or ['']))[0]))
""",
    "toplevelbuild": """
WORDS=[]
for w in 'a b'.split():
    WORDS.append(w)
async def grade(thread):
    return float(len(WORDS))
""",
    "unused": """
import random
def other():
    return random.random()
async def grade(thread):
    return 1.0
""",
    "shadow": """
items=[]
async def grade(thread):
    items=[]
    items.append(1)
    return float(len(items))
""",
    "hashself": """
class K:
    def __init__(self,v):
        self.v=v
    def __hash__(self):
        return hash(self.v)
    def __eq__(self,o):
        return self.v==o.v
async def grade(thread):
    return float(len({K(1),K(1)}))
""",
    "nonlocal": """
async def grade(thread):
    n=0
    def f():
        nonlocal n
        n+=1
    f()
    return float(n)
""",
    "strptime": """
import time
async def grade(thread):
    return float(time.strptime('2020','%Y').tm_year) + len(time.strftime('%Y',time.gmtime(0)))
""",
    "stack": """
async def grade(thread):
    stack=[]
    for c in thread.completion():
        stack.append(c)
        stack.pop()
    return float(len(stack))
""",
    "memoget": """
C={}
async def grade(thread):
    t=thread.completion()
    v=C.get(t)
    if v is None:
        v=C[t]=float(len(t))
    return v
""",
    "lazyattr": """
async def grade(thread):
    import re
    if not hasattr(grade,'p'):
        grade.p=re.compile('x')
    return float(bool(grade.p.search('x')))
""",
}

CLOSURE = """
def counter():
    n = 0
    def count():
        nonlocal n
        n += 1
        return n
    return count
COUNT = counter()
async def grade(thread):
    return float(COUNT())
"""
CACHE_THAT_DECIDES = """
KNOWN = {}
async def grade(thread):
    text = thread.completion()
    if text in KNOWN:
        return KNOWN[text] / 2
    KNOWN[text] = float(len(text))
    return KNOWN[text]
"""
FAILS_LATER = """
calls = []
async def grade(thread):
    calls.append(1)
    if len(calls) > 1:
        raise ValueError("again")
    return 1.0
"""
ON_LOADING = """
import os
LUCK = os.urandom(8).hex()
async def grade(thread):
    return float(int(LUCK, 16) % 1_000_003)
"""
_IN_TEXT = ("hash of a text", "the first of a set")
"""What is the same in every worker here, so that only the text shows it."""


def in_text(validation):
    return [
        warning
        for warning in validation.warnings
        if warning.startswith("line ") and "annotated" not in warning
    ]


def in_calls(validation):
    return [warning for warning in validation.warnings if "graded again" in warning]


@pytest.mark.parametrize("name", TOLD)
def test_what_a_text_shows_is_told_with_its_line(name):
    """The grader passes its checks, and is warned of by its text; where a score changes, by its calls too."""
    validation = validate_text(TOLD[name])
    assert validation.ok
    assert len(in_text(validation)) == 1
    if name != "an id":  # where an object lies may be the same twice
        assert bool(in_calls(validation)) is (name not in _IN_TEXT)


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_graders_get_no_warning(name):
    """Tables, patterns, caches of pure functions, what is made on first use, seeded draws, sets that are searched."""
    validation = validate_text(HEALTHY[name], threads=THREADS)
    assert validation.ok
    assert not in_text(validation)
    assert not in_calls(validation)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (CLOSURE, "scores 1 at first and scores 2 when it is graded again, so it keeps state"),
        (CACHE_THAT_DECIDES, "scores 1 at first and scores 0.5 when it is graded again, so it keeps state"),
        (FAILS_LATER, "scores 1 at first and fails when it is graded again, so it keeps state"),
        (ON_LOADING, "it is random or reads the clock"),
    ],
)
def test_a_second_call_shows_what_the_text_does_not(text, part):
    """State in a closure or a cache that decides, and what differs between two workers only."""
    (warning,) = in_calls(validate_text(text))
    assert warning.startswith("the mock thread ")
    assert part in warning


def test_rows_of_ones_own_are_called_in_another_order():
    """A grader that compares a row with the one before repeats itself on one row alone, and not among several."""
    text = "last = []\nasync def grade(thread):\n    text = thread.completion()\n    same = last[-1:] == [text]\n    last.append(text)\n    return float(len(last) > 1 and not same)\n"
    assert in_calls(validate_text(text, threads=THREADS))


def test_scores_of_a_validation_have_to_be_equal():
    """A score that differs in its last digits shows that something else than the row decides."""
    text = "n = []\nasync def grade(thread):\n    n.append(1)\n    return 1.0 + len(n) * 1e-14\n"
    assert "keeps state" in in_calls(validate_text(text))[0]


def test_a_skipped_row_is_an_outcome():
    """A grader that skips a row always is steady; one that skips it the second time is not."""
    steady = "from workbench import Skip\nasync def grade(thread):\n    raise Skip('never')\n"
    later = "from workbench import Skip\nn = []\nasync def grade(thread):\n    n.append(1)\n    if n[1:]:\n        raise Skip('later')\n    return 1.0\n"
    assert not in_calls(validate_text(steady))
    assert "is skipped when it is graded again" in in_calls(validate_text(later))[0]


@pytest.mark.parametrize(
    "source",
    [
        "class A:\n    x = [lambda: x for x in ()]\nasync def grade(thread):\n    return 1.0\n",
        "from . import y\nasync def grade(thread):\n    return 1.0\n",
        "async def grade(thread):\n    async def inner():\n        return 1.0\n    return await inner()\n",
        "(a, b), *c = (1, 2), 3\nasync def grade(thread):\n    return float(a)\n",
        "async def grade(thread, /):\n    def f(*, a, b=[]):\n        return b\n    return float(len(f(a=1)))\n",
    ],
)
def test_any_syntax_can_be_read(source):
    """Nothing in a text ends the look at it."""
    assert not in_text(validate_text(source))


@pytest.mark.skipif(not engine_path(), reason="needs quickjs-ng")
@pytest.mark.parametrize(
    ("script", "part"),
    [
        (
            "let n = 0;\nfunction grade(input) { n += 1; return n; }",
            "line 2: the script writes the top-level variable n",
        ),
        (
            "var seen;\nfunction grade(input) { seen = input.response; return 1; }",
            "the top-level variable seen",
        ),
        (
            "function grade(input) { return Math.random(); }",
            "line 1: the script draws random values (Math.random)",
        ),
        ("function grade(input) { return Date.now() % 2; }", "reads the clock"),
    ],
)
def test_scripts_are_read_too(script, part):
    """JavaScript: what its words show."""
    assert part in str(wb.ScriptGrader.from_source(script).validate())


@pytest.mark.skipif(not engine_path(), reason="needs quickjs-ng")
@pytest.mark.parametrize(
    "script",
    [
        "const T = {a: 1};\nlet words = ['a'];\nfunction grade(input) { let n = 0; for (const w of words) { n += 1; } return n; }",
        "let n = 1;\nfunction grade(input) { let n = 0; n += 1; return n; }",
        "let x = 1;\nfunction grade(input) { return x === 1 && x == 1 && x <= 1 && x >= 0 ? 1 : 0; }",
        "// n = Math.random()\nlet s = 'n += 1; Date.now()';\nfunction grade(input) { return s.length; }",
        "let o = {};\nfunction f(o) { o = 3; return o; }\nfunction grade(input) { return f(1); }",
    ],
)
def test_healthy_scripts_get_no_warning(script):
    """Tables, locals of the same name, comparisons, and words in comments and texts."""
    assert wb.ScriptGrader.from_source(script).validate().warnings == ()
