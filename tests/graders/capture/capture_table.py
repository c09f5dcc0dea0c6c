"""The capture cases: cells that run in order, then what the captured text must score, or why it is refused.

`scores` maps an assistant's answer to the score that the captured text must give when it runs by itself
in a bare interpreter. `refused` is a part of the refusal's message.
"""

from __future__ import annotations

from dataclasses import dataclass, field

G = "async def grade(thread):\n    "


@dataclass(frozen=True)
class Case:
    name: str
    cells: list[str]
    scores: dict[str, float] = field(default_factory=dict)
    refused: str = ""
    capture: str = "grade"
    text: str = ""
    has: str = ""
    lacks: str = ""
    record: bool = True


IMPORTS = [
    Case(
        "import alias",
        ["import re as r", G + "return float(bool(r.match('4', thread.completion())))"],
        {"4": 1.0, "x": 0.0},
        has="import re as r\n",
    ),
    Case(
        "from import alias",
        ["from math import floor as down", G + "return down(float(thread.completion()))"],
        {"2.7": 2},
        has="from math import floor as down",
    ),
    Case(
        "two names of one module",
        ["from math import floor, ceil", G + "return floor(1.5) + ceil(1.5)"],
        {"x": 3},
        has="from math import ceil, floor",
    ),
    Case("star import", ["from math import *", G + "return floor(pi)"], {"x": 3}, has="from math import"),
    Case(
        "star import shadowed later",
        ["from math import *", "def floor(x):\n    return 7", G + "return floor(pi)"],
        {"x": 7},
    ),
    Case(
        "one statement, two modules",
        ["import json, re", G + "return float(json.loads(thread.completion())['a'])"],
        {'{"a": 2}': 2.0},
        lacks="import re",
    ),
    Case(
        "submodule of a package",
        [
            "import xml.etree.ElementTree",
            G + "return float(xml.etree.ElementTree.fromstring(thread.completion()).text)",
        ],
        {"<a>3</a>": 3.0},
        has="import xml.etree.ElementTree",
    ),
    Case(
        "submodule loaded elsewhere",
        [
            "import concurrent.futures\nimport concurrent",
            G + "return float(concurrent.futures.Future().done())",
        ],
        {"x": 0.0},
        has="import concurrent.futures",
    ),
    Case(
        "import under try",
        [
            "try:\n    import no_such_module as j\nexcept ImportError:\n    import json as j",
            G + "return float(j.loads(thread.completion()))",
        ],
        {"3": 3.0},
        has="import json as j",
    ),
    Case(
        "import under if",
        [
            "import sys\nif sys.version_info > (3, 0):\n    from collections import Counter",
            G + "return Counter(thread.completion())['a']",
        ],
        {"aab": 2},
    ),
    Case(
        "import rebound to another module",
        ["import json as m", "import math as m", G + "return m.floor(1.9)"],
        {"x": 1},
        has="import math as m",
    ),
    Case(
        "import deleted",
        ["import re\n" + G + "return float(bool(re.match('4', thread.completion())))", "del re"],
        refused="re is not defined",
    ),
    Case(
        "name imported by exec",
        ["exec('import re')", G + "return float(bool(re.match('4', thread.completion())))"],
        {"4": 1.0},
        has="import re",
    ),
    Case(
        "third-party from import",
        ["from numpy import mean", G + "return float(mean([1]))"],
        refused="numpy is not in the standard library",
    ),
    Case(
        "third-party inside the function",
        [G + "import numpy\n    return 1.0"],
        refused="numpy is not in the standard library",
    ),
    Case("third-party constant", ["from numpy import pi", G + "return pi"], {"x": 3.141592653589793}),
    Case(
        "third-party object",
        ["import numpy as np\nW = np.array([1.0])", G + "return float(W[0])"],
        refused="numpy is not in the standard library",
    ),
    Case(
        "third-party only in a helper",
        ["import pandas as pd\ndef h(s):\n    return float(pd.Series([1]).sum())", G + "return h('')"],
        refused="pandas is not in the standard library",
    ),
    Case(
        "local module",
        [
            "import sys, tempfile, pathlib\nd = tempfile.mkdtemp(); sys.path.insert(0, d)\nn = pathlib.Path(d, 'wbcap1.py').write_text('K = 2\\ndef h():\\n    return K\\n')\nimport wbcap1",
            G + "return wbcap1.h()",
        ],
        refused="wbcap1 is not in the standard library",
    ),
    Case(
        "function of a local module",
        [
            "import sys, tempfile, pathlib\nd = tempfile.mkdtemp(); sys.path.insert(0, d)\nn = pathlib.Path(d, 'wbcap2.py').write_text('K = 2\\ndef h():\\n    return K\\n')\nfrom wbcap2 import h",
            "K = 5",
            G + "return h()",
        ],
        {"x": 2},
    ),
    Case(
        "two modules, one name",
        [
            "import sys, tempfile, pathlib\nd = tempfile.mkdtemp(); sys.path.insert(0, d)\nn = pathlib.Path(d, 'wbcap3.py').write_text('K = 2\\ndef h():\\n    return K\\n')\nfrom wbcap3 import h",
            "K = 5",
            G + "return h() + K",
        ],
        refused="two different things are called K",
    ),
    Case(
        "relative import inside",
        [G + "from . import x\n    return 1.0"],
        refused="not in the standard library",
    ),
    Case(
        "module as a value",
        ["import math, cmath\nM = {'a': math, 'b': cmath}", G + "return M['a'].floor(1.5)"],
        {"x": 1},
    ),
    Case(
        "imported constant",
        ["from string import punctuation", G + "return float(thread.completion() in punctuation)"],
        {"!": 1.0, "a": 0.0},
        has="from string import punctuation",
    ),
    Case(
        "datetime class",
        [
            "from datetime import datetime as dt",
            G + "return float(dt.fromisoformat(thread.completion()).year)",
        ],
        {"2024-01-01": 2024.0},
    ),
]

CONSTANTS = [
    Case(
        "constant with its comment",
        ["# points for a hit\nHIT = 0.5  # half", G + "return HIT"],
        {"x": 0.5},
        has="# points for a hit\nHIT = 0.5  # half\n",
    ),
    Case("constant computed", ["K = 3 * 4", G + "return K"], {"x": 12}, has="K = 12"),
    Case(
        "constant changed in place",
        ["WORDS = ['a']\nWORDS.append('b')", G + "return float(thread.completion() in WORDS)"],
        {"b": 1.0, "c": 0.0},
    ),
    Case("constant augmented", ["K = 1", "K += 1", G + "return K"], {"x": 2}),
    Case(
        "set at run time",
        ["for w in ('a', 'b'):\n    LAST = w", G + "return float(thread.completion() == LAST)"],
        {"b": 1.0, "a": 0.0},
    ),
    Case(
        "tuple unpacking",
        ["A, B = 1, 2\n(C, *D) = 3, 4, 5", G + "return A + 10 * B + 100 * C + len(D)"],
        {"x": 323},
    ),
    Case("walrus at the top", ["print(N := 4)", G + "return N"], {"x": 4}),
    Case(
        "nested containers",
        [
            "T = {'a': [1, (2, {'b': {3, 4}})], None: b'x'}",
            G + "return T['a'][1][0] + len(T['a'][1][1]['b'])",
        ],
        {"x": 4},
    ),
    Case(
        "negative zero and nan",
        [
            "Z = -0.0; N = float('nan'); I = -float('inf')",
            G + "return float(str(Z) == '-0.0' and N != N and I < 0)",
        ],
        {"x": 1.0},
    ),
    Case("complex and bytes", ["C = 1 + 2j; B = bytearray(b'ab')", G + "return C.imag + len(B)"], {"x": 4.0}),
    Case(
        "range and ellipsis",
        ["R = range(0, 10, 3); E = ...", G + "return sum(R) + (E is Ellipsis)"],
        {"x": 19},
    ),
    Case("bool is not int", ["F = True", G + "return float(F is True)"], {"x": 1.0}, has="F = True"),
    Case("big integer", ["N = 7 ** 3000", G + "return float(N % 10)"], {"x": 1.0}),
    Case(
        "integer too big to write",
        ["N = 7 ** 9000", G + "return float(N % 10)"],
        {"x": 1.0},
        has="N = 7 ** 9000",
    ),
    Case("odd text", ["S = '\\u202e\\ud800\\x00' + 'é' + chr(10)", G + "return len(S)"], {"x": 5}),
    Case(
        "long list is broken over lines",
        ["W = [f'word number {i}' for i in range(20)]", G + "return float(thread.completion() in W)"],
        {"word number 3": 1.0},
        has="W = [\n    'word number 0',\n",
    ),
    Case(
        "long text kept as written",
        ["T = '''one\n  two\n'''", G + "return len(T)"],
        {"x": 10},
        has="T = '''one\n  two\n'''",
    ),
    Case(
        "list shared by two names",
        ["A = [1]\nB = A", G + "A.append(2)\n    n = len(B)\n    A.pop()\n    return n"],
        {"x": 2},
        has="B = A",
    ),
    Case(
        "list shared inside another",
        ["BASE = ['a']\nT = {'x': BASE, 'n': BASE}", G + "return float(T['x'] is T['n'] and T['x'] is BASE)"],
        {"x": 1.0},
    ),
    Case(
        "list that holds itself",
        ["L = [1]\nL.append(L)", G + "return L[0]"],
        refused="L changed after it was defined",
    ),
    Case(
        "constant too large",
        ["W = ['x' * 100] * 1000", G + "return float(thread.completion() in W)"],
        refused="too large",
    ),
    Case("shadowed builtin", ["def len(x):\n    return 7", G + "return len('')"], {"x": 7}),
    Case(
        "constant set by a function's global",
        ["N = 3\ndef bump():\n    global N\n    N += 1\n    return N", G + "return bump()"],
        {"x": 4},
    ),
    Case(
        "only assigned through global",
        [G + "global SEEN\n    SEEN = 2\n    return SEEN"],
        refused="SEEN is not defined",
    ),
    Case("annotated constant", ["from typing import Final\nK: Final[int] = 3", G + "return K"], {"x": 3}),
    Case(
        "enum member as constant",
        ["import enum\nclass L(enum.IntEnum):\n    A = 1\n    B = 2\nBEST = L.B", G + "return BEST"],
        {"x": 2},
    ),
    Case(
        "compiled regex",
        [
            "import re\nP = re.compile(r'\\d+', re.I)",
            G + "return float(bool(P.fullmatch(thread.completion())))",
        ],
        {"12": 1.0, "a": 0.0},
        has=r"P = re.compile(r'\d+', re.I)",
    ),
    Case(
        "dict of regexes",
        [
            "import re\nP = {k: re.compile(k) for k in 'ab'}",
            G + "return float(sum(bool(p.search(thread.completion())) for p in P.values()))",
        ],
        {"ab": 2.0},
    ),
    Case(
        "decimal and fraction",
        [
            "from decimal import Decimal\nfrom fractions import Fraction\nD = Decimal('1.5'); F = Fraction(1, 2)",
            G + "return float(D) + float(F)",
        ],
        {"x": 2.0},
    ),
    Case(
        "counter",
        ["from collections import Counter\nC = Counter('aab')", G + "return C[thread.completion()]"],
        {"a": 2},
    ),
    Case(
        "counter filled later",
        [
            "from collections import Counter\nC = Counter()\nC.update('aab')",
            G + "return C[thread.completion()]",
        ],
        refused="C changed after it was defined",
    ),
    Case(
        "defaultdict with a lambda",
        [
            "from collections import defaultdict\nD = defaultdict(lambda: 5, a=1)",
            G + "return D.get('a') + D.default_factory()",
        ],
        {"x": 6},
    ),
    Case(
        "seeded generator unused",
        ["import random\nR = random.Random(3)", G + "return float(R.random() < 2)"],
        {"x": 1.0},
    ),
    Case(
        "seeded generator used",
        ["import random\nR = random.Random(3)\nR.random()", G + "return R.random()"],
        refused="R changed after it was defined",
    ),
    Case(
        "value of the clock",
        ["from datetime import datetime\nNOW = datetime.now()", G + "return float(NOW.year)"],
        refused="NOW depends on when",
    ),
    Case(
        "value of the clock through a helper",
        [
            "import datetime\ndef made():\n    return datetime.date.today()\nDAY = made()",
            G + "return DAY.year",
        ],
        refused="DAY depends on when",
    ),
    Case(
        "constant with very many entries",
        ["W = list(range(200_000))", G + "return float(len(W))"],
        refused="W is too large",
    ),
    Case(
        "file at import", ["F = open('/dev/null')", G + "return float(F.closed)"], refused="F depends on when"
    ),
    Case(
        "generator object",
        ["GEN = (i for i in range(3))", G + "return next(GEN)"],
        refused="GEN contains a live object",
    ),
    Case(
        "lock",
        ["import threading\nL = threading.Lock()", G + "return float(L.locked())"],
        refused="L contains a live object",
    ),
    Case(
        "open connection",
        ["import sqlite3\nDB = sqlite3.connect(':memory:')", G + "return float(DB.total_changes)"],
        refused="DB contains a live object",
    ),
    Case(
        "object made by a loop",
        ["import decimal\nfor i in range(3):\n    D = decimal.Decimal(i)", G + "return float(D)"],
        {"x": 2.0},
    ),
    Case(
        "object made by a loop that went on",
        ["import decimal\nfor i in range(3):\n    D = decimal.Decimal(i)\ni = 7", G + "return float(D)"],
        refused="D changed after it was defined",
    ),
    Case(
        "object of a for target",
        ["import decimal\nfor D in [decimal.Decimal(1)]:\n    pass", G + "return float(D)"],
        refused="D is not made by one assignment",
    ),
    Case(
        "object in steps",
        ["from fractions import Fraction as Fr\nX = Fr(1, 2)", "X = X + 1", G + "return float(X)"],
        refused="X is made in several steps",
    ),
]

SECRETS = [
    Case(
        "token by shape",
        ["A = 'ghp_' + 'a1B2' * 9", G + "return float(A in thread.completion())"],
        refused="A looks like a credential",
    ),
    Case(
        "key in a dict",
        ["CFG = {'api_key': 'x' + 'yz'}", G + "return float(len(CFG))"],
        refused="CFG looks like a credential",
    ),
    Case(
        "password",
        ["DB_PASSWORD = 'hunter' + '2'", G + "return float(len(DB_PASSWORD))"],
        refused="DB_PASSWORD looks like a credential",
    ),
    Case(
        "key in a default",
        ["KEY = 'AKIA' + 'ABCDEFGHIJKLMNOP'\ndef h(k=KEY):\n    return 1.0", "del KEY", G + "return h()"],
        refused="looks like a credential",
    ),
    Case(
        "key in the body",
        [G + "return float('sk-a1B2a1B2a1B2a1B2a1B2' in thread.completion())"],
        refused="looks like a credential",
    ),
    Case(
        "a mark is no secret",
        [
            "EOS_TOKEN = '<eos>'; MAX_TOKENS = 5; KEYWORDS = ['key']",
            G + "return float(thread.completion().endswith(EOS_TOKEN)) + MAX_TOKENS + len(KEYWORDS)",
        ],
        {"a<eos>": 7.0},
    ),
    Case(
        "regex that finds keys",
        [
            "import re\nLEAK = re.compile(r'sk-[A-Za-z0-9]{20,}')",
            G + "return float(bool(LEAK.search(thread.completion())))",
        ],
        {"no": 0.0},
    ),
]

FUNCTIONS = [
    Case(
        "async helper",
        ["async def twice(x):\n    return 2 * x", G + "return await twice(len(thread.completion()))"],
        {"ab": 4},
    ),
    Case(
        "recursive helper",
        [
            "def fact(n):\n    return 1 if n < 2 else n * fact(n - 1)",
            G + "return fact(len(thread.completion()))",
        ],
        {"abcd": 24},
    ),
    Case(
        "grader calls itself by its name",
        ["async def count(thread, n=2):\n    return 0 if n == 0 else 1 + await count(thread, n - 1)"],
        {"x": 2},
        capture="count",
        has="\n\n\ncount = grade\n",
    ),
    Case(
        "rename leaves other text alone",
        ["async def len_rule(thread):\n    # len_rule counts\n    return len('len_rule')"],
        {"x": 8},
        capture="len_rule",
        has="# len_rule counts",
        lacks="len_rule = grade",
    ),
    Case(
        "helper needs the grader",
        [
            "def other(thread):\n    return exact.__name__ != ''\nasync def exact(thread):\n    return float(other(thread))"
        ],
        {"x": 1.0},
        capture="exact",
        has="exact = grade",
    ),
    Case(
        "table that holds the grader",
        ["async def exact(thread):\n    return float(len(TABLE))\nTABLE = [exact]"],
        {"x": 1.0},
        capture="exact",
    ),
    Case(
        "helper under another name",
        ["def norm(s):\n    return s.strip()\nclean = norm", G + "return len(clean(thread.completion()))"],
        {" a ": 1},
        has="clean = norm",
    ),
    Case(
        "old helper kept under another name",
        [
            "def norm(s):\n    return 1\nold = norm",
            "def norm(s):\n    return 2",
            G + "return old('') + 10 * norm('')",
        ],
        {"x": 21},
    ),
    Case(
        "helper redefined", ["def h():\n    return 1", "def h():\n    return 2", G + "return h()"], {"x": 2}
    ),
    Case(
        "old grader object after a re-run",
        [
            "async def grade(thread):\n    return 1.0\nfirst = grade",
            "async def grade(thread):\n    return 2.0",
        ],
        {"x": 1.0},
        capture="first",
    ),
    Case(
        "helper under if",
        [
            "if True:\n    def h():\n        text = '''a\nb'''\n        return len(text)\nelse:\n    def h():\n        return 0",
            G + "return h()",
        ],
        {"x": 3},
    ),
    Case(
        "grader under if",
        ["if 1:\n    # why\n    async def grade(thread):\n        return 0.5"],
        {"x": 0.5},
        has="# why\nasync def grade",
    ),
    Case(
        "comments above and inside stay",
        ["# says why\nasync def grade(thread):\n    # inside\n    return 0.5  # behind\n"],
        {"x": 0.5},
        has="# says why\nasync def grade(thread):\n    # inside\n    return 0.5  # behind\n",
    ),
    Case(
        "default is a name still the same",
        ["K = [1]\ndef h(x=K):\n    return len(x)", G + "return h()"],
        {"x": 1},
        has="def h(x=K):",
    ),
    Case(
        "default from an expression",
        ["K = 2\ndef h(x=K * 3, *, y=K + 1):\n    return x + y", "K = 100", G + "return h()"],
        {"x": 9},
        has="def h(x=6, *, y=3):",
    ),
    Case(
        "default whose name is gone",
        ["K = 2\ndef h(x=K):\n    return x", "del K", G + "return h()"],
        {"x": 2},
    ),
    Case(
        "default from a module",
        ["import math\ndef h(x=math.pi):\n    return x", G + "return h()"],
        {"x": 3.141592653589793},
        has="def h(x=math.pi):",
    ),
    Case(
        "default enum member",
        ["import enum\nclass L(enum.Enum):\n    A = 1\ndef h(x=L.A):\n    return x.value", G + "return h()"],
        {"x": 1},
    ),
    Case(
        "default that is filled by use",
        ["def h(s, seen=[]):\n    seen.append(s)\n    return len(seen)", "h('a')", G + "return h('b')"],
        refused="h changed after it was defined",
    ),
    Case(
        "defaults replaced by hand",
        ["def h(x=1):\n    return x\nh.__defaults__ = (5,)", G + "return h()"],
        refused="h changed after it was defined",
    ),
    Case(
        "attribute on a function",
        ["def h():\n    return h.k\nh.k = 3", G + "return h()"],
        refused="h changed after it was defined",
    ),
    Case(
        "default of the grader itself",
        ["W = 0.5\nasync def grade(thread, w=W):\n    return w", "W = 9"],
        {"x": 0.5},
    ),
    Case(
        "lambda helper",
        ["low = lambda s: s.lower()", G + "return float(low(thread.completion()) == 'a')"],
        {"A": 1.0},
        has="low = lambda s: s.lower()",
    ),
    Case(
        "two lambdas on a line",
        [
            "up, low = lambda s: s.upper(), lambda s: s.lower()",
            G + "return float(low(thread.completion()) == 'a')",
        ],
        {"A": 1.0},
    ),
    Case(
        "table of lambdas",
        [
            "W = 2\nR = {'n': lambda s: len(s) * W, 'z': lambda s: 0}",
            G + "return sum(r(thread.completion()) for r in R.values())",
        ],
        {"ab": 4},
    ),
    Case(
        "late binding in a loop of lambdas",
        ["R = [lambda s: s + i for i in range(3)]", G + "return R[0](1)"],
        {"x": 3},
    ),
    Case(
        "lambdas appended by a loop",
        ["R = []\nfor i in range(3):\n    R.append(lambda s: i)", G + "return R[0](1)"],
        refused="R changed after it was defined",
    ),
    Case("lambda as the grader", ["grade = lambda thread: 1.0"], refused="lambda"),
    Case(
        "partial",
        [
            "from functools import partial\ndef h(a, b):\n    return a - b\nh3 = partial(h, 3)",
            G + "return h3(len(thread.completion()))",
        ],
        {"x": 2},
    ),
    Case(
        "partial as the grader",
        ["from functools import partial\nasync def f(a, thread):\n    return a\ngrade = partial(f, 1)"],
        refused="not a function",
    ),
    Case(
        "method as the grader",
        ["class A:\n    async def g(self, thread):\n        return 1.0\na = A()"],
        refused="method",
        capture="a.g",
    ),
    Case(
        "method of a class as the grader",
        ["class A:\n    async def g(thread):\n        return 1.0"],
        refused="method",
        capture="A.g",
    ),
    Case("class as the grader", ["class A:\n    pass"], refused="class", capture="A"),
    Case("builtin as the grader", ["x = 1"], refused="written in C", capture="len"),
    Case("number as the grader", ["x = 1"], refused="not a function", capture="x"),
    Case("call as the grader", [G + "return 1.0", "c = grade(None)"], refused="coroutine", capture="c"),
    Case(
        "nested grader without a closure",
        ["def make():\n    async def grade(thread):\n        return 1.0\n    return grade\ngrade = make()"],
        refused="nested",
    ),
    Case(
        "closure over a changed cell",
        [
            "def make():\n    n = 0\n    def f():\n        nonlocal n\n        n += 1\n        return n\n    return f\ntick = make()\ntick()",
            G + "return tick()",
        ],
        refused="tick changed after it was defined",
    ),
    Case(
        "factory redefined since",
        [
            "def make(w):\n    def f(s):\n        return w in s\n    return f\nhas = make('a')",
            "def make(w):\n    def f(s):\n        return w not in s\n    return f",
            G + "return float(has(thread.completion()))",
        ],
        refused="has changed after it was defined",
    ),
    Case(
        "bound method as helper",
        [
            "class A:\n    def __init__(self, k):\n        self.k = k\n    def g(self, s):\n        return self.k * len(s)\nscore = A(3).g",
            G + "return score(thread.completion())",
        ],
        {"ab": 6},
    ),
    Case(
        "builtin method as helper",
        ["words = {'a': 1}.get", G + "return words(thread.completion(), 0)"],
        {"a": 1},
    ),
    Case(
        "decorated helper with wraps",
        [
            "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def g(*a):\n        return 2 * f(*a)\n    return g\n@twice\ndef h(s):\n    return len(s)",
            G + "return h(thread.completion())",
        ],
        {"ab": 4},
    ),
    Case(
        "decorated helper without wraps",
        [
            "def twice(f):\n    def g(*a):\n        return 2 * f(*a)\n    return g\n@twice\ndef h(s):\n    return len(s)",
            G + "return h(thread.completion())",
        ],
        {"ab": 4},
    ),
    Case(
        "grader decorated without wraps",
        [
            "def half(f):\n    async def g(thread):\n        return (await f(thread)) / 2\n    return g\n@half\n"
            + G
            + "return 1.0"
        ],
        {"x": 0.5},
    ),
    Case(
        "grader wrapped by hand",
        [
            "import functools\ndef half(f):\n    @functools.wraps(f)\n    async def g(thread):\n        return (await f(thread)) / 2\n    return g\n"
            + G
            + "return 1.0",
            "h = half(grade)",
        ],
        refused="grade changed after it was defined",
        capture="h",
    ),
    Case(
        "decorator changed since",
        [
            "def half(f):\n    async def g(thread):\n        return (await f(thread)) / 2\n    return g\n@half\n"
            + G
            + "return 1.0",
            "def half(f):\n    async def g(thread):\n        return (await f(thread)) / 4\n    return g",
        ],
        refused="changed after it was defined",
    ),
    Case(
        "cached helper",
        [
            "import functools\n@functools.lru_cache(maxsize=8)\ndef h(s):\n    return len(s)",
            "h('abc')",
            G + "return h(thread.completion())",
        ],
        {"ab": 2},
    ),
    Case(
        "singledispatch",
        [
            "from functools import singledispatch\n@singledispatch\ndef h(x):\n    return 0\n@h.register\ndef _(x: str):\n    return 5",
            G + "return h(thread.completion())",
        ],
        refused="changed after it was defined",
    ),
    Case(
        "registry by decorator",
        [
            "R = {}\ndef reg(f):\n    R[f.__name__] = f\n    return f\n@reg\ndef a(s):\n    return 1.0",
            G + "return sum(f('') for f in R.values())",
        ],
        refused="R changed after it was defined",
    ),
    Case(
        "context manager helper",
        [
            "import contextlib\n@contextlib.contextmanager\ndef c():\n    yield 3",
            G + "with c() as n:\n        return n",
        ],
        {"x": 3},
    ),
    Case(
        "generator helper",
        ["def gen(s):\n    yield from s", G + "return sum(1 for _ in gen(thread.completion()))"],
        {"abc": 3},
    ),
    Case(
        "async generator helper",
        [
            "async def gen(s):\n    for c in s:\n        yield c",
            G + "return len([c async for c in gen(thread.completion())])",
        ],
        {"abc": 3},
    ),
    Case(
        "nested def inside the grader",
        [
            "async def outer(thread):\n    def outer_helper(x):\n        return x\n    class Inner:\n        v = 2\n    return outer_helper(1.0) + Inner.v"
        ],
        {"x": 3.0},
        capture="outer",
    ),
    Case(
        "module.attr() calls in another cell",
        ["import json", "def h(s):\n    return json.loads(s)", G + "return h(thread.completion())"],
        {"3": 3},
    ),
    Case(
        "import beside the call",
        ["import json\ndef h(s):\n    return json.loads(s)\n" + G + "return h(thread.completion())"],
        {"3": 3},
    ),
    Case("undefined helper", [G + "return nobody(thread)"], refused="nobody is not defined"),
    Case(
        "helper of a helper undefined",
        ["def h():\n    return gone()", G + "return h()"],
        refused="gone is not defined",
    ),
    Case("name guarded by a local import", [G + "from math import floor\n    return floor(1.5)"], {"x": 1}),
    Case(
        "try and except star",
        [
            G
            + "try:\n        raise ExceptionGroup('g', [ValueError()])\n    except* ValueError:\n        pass\n    return 1.0"
        ],
        {"x": 1.0},
    ),
    Case(
        "sync def passes the capture",
        ["def plain(thread):\n    return 1.0"],
        {"x": 1.0},
        capture="plain",
        has="def grade(thread):",
    ),
    Case(
        "two parameters pass the capture",
        ["async def two(thread, extra=1):\n    return extra"],
        {"x": 1},
        capture="two",
    ),
    Case(
        "annotated with another grade",
        ["grade = 3\nasync def exact(thread):\n    return grade"],
        refused="two things called grade",
        capture="exact",
    ),
    Case(
        "local variable called grade",
        ["async def exact(thread):\n    grade = 0.25\n    return grade"],
        {"x": 0.25},
        capture="exact",
    ),
    Case("chosen name", [G + "return 1.0"], {"x": 1.0}, capture="grade, name='mine'"),
]

CLASSES = [
    Case(
        "dataclass",
        [
            "from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass R:\n    w: str\n    p: float = 0.5\n    t: list = field(default_factory=list)\nRULES = [R('a'), R('b', 0.25)]",
            G + "return sum(r.p for r in RULES if r.w in thread.completion())",
        ],
        {"ab": 0.75},
    ),
    Case(
        "dataclass under future annotations",
        [
            "from __future__ import annotations",
            "from dataclasses import dataclass\nfrom typing import ClassVar\n@dataclass\nclass R:\n    w: str\n    n: ClassVar[int] = 4",
            G + "return R('x').n",
        ],
        {"x": 4},
        has="from __future__ import annotations",
    ),
    Case(
        "class with a helper and a base",
        [
            "K = 2\ndef h(x):\n    return x * K\nclass A:\n    def s(self, t):\n        return h(len(t))\nclass B(A):\n    pass",
            G + "return B().s(thread.completion())",
        ],
        {"ab": 4},
    ),
    Case("class redefined", ["class A:\n    k = 1", "class A:\n    k = 2", G + "return A.k"], {"x": 2}),
    Case(
        "class patched later",
        ["class A:\n    k = 1\nA.k = 5", G + "return A.k"],
        refused="A changed after it was defined",
    ),
    Case(
        "method patched later",
        ["class A:\n    def f(self):\n        return 1", "A.f = lambda self: 2", G + "return A().f()"],
        refused="A changed after it was defined",
    ),
    Case(
        "class body reads a name", ["K = 3\nclass A:\n    K = K\n    n = K + 1", G + "return A.n"], {"x": 4}
    ),
    Case(
        "class body name changed since",
        ["K = 3\nclass A:\n    n = K", "K = 9", G + "return A.n"],
        refused="A changed after it was defined",
    ),
    Case(
        "instance",
        ["class A:\n    def __init__(self, k):\n        self.k = k\nOBJ = A(3)", G + "return OBJ.k"],
        {"x": 3},
    ),
    Case(
        "instance changed",
        [
            "class A:\n    def __init__(self, k):\n        self.k = k\nOBJ = A(3)\nOBJ.k = 4",
            G + "return OBJ.k",
        ],
        refused="OBJ changed after it was defined",
    ),
    Case(
        "instance with slots changed",
        ["class A:\n    __slots__ = ('k',)\nOBJ = A()\nOBJ.k = 4", G + "return OBJ.k"],
        refused="OBJ changed after it was defined",
    ),
    Case(
        "typed named tuple",
        [
            "from typing import NamedTuple\nclass N(NamedTuple):\n    a: int = 2\n    def twice(self):\n        return 2 * self.a",
            G + "return N().twice()",
        ],
        {"x": 4},
    ),
    Case("enum by a call", ["import enum\nL = enum.Enum('L', 'A B')", G + "return L.B.value"], {"x": 2}),
    Case(
        "flag enum",
        [
            "from enum import Flag, auto\nclass P(Flag):\n    R = auto()\n    W = auto()",
            G + "return float((P.R | P.W) == P(3))",
        ],
        {"x": 1.0},
    ),
    Case(
        "abstract class",
        [
            "from abc import ABC, abstractmethod\nclass A(ABC):\n    @abstractmethod\n    def f(self): ...\nclass B(A):\n    def f(self):\n        return 3",
            G + "return B().f()",
        ],
        {"x": 3},
    ),
    Case(
        "generic class",
        [
            "from typing import Generic, TypeVar\nT = TypeVar('T')\nclass Box(Generic[T]):\n    def __init__(self, v: T):\n        self.v = v",
            G + "return Box[int](3).v",
        ],
        {"x": 3},
    ),
    Case(
        "properties and classmethods",
        [
            "class A:\n    @property\n    def p(self):\n        return 2\n    @classmethod\n    def c(cls):\n        return 3\n    @staticmethod\n    def s():\n        return 4",
            G + "return A().p + A.c() + A.s()",
        ],
        {"x": 9},
    ),
    Case(
        "exception class",
        [
            "class Bad(ValueError):\n    pass",
            G + "try:\n        raise Bad\n    except Bad:\n        return 1.0",
        ],
        {"x": 1.0},
    ),
    Case("class alias", ["class A:\n    k = 1\nB = A", G + "return B.k"], {"x": 1}),
    Case(
        "class from a factory",
        ["def make(k):\n    class A:\n        n = k\n    return A\nC = make(3)", G + "return C.n"],
        {"x": 3},
    ),
    Case(
        "private names in a class",
        ["class A:\n    __k = 3\n    def f(self):\n        return self.__k", G + "return A().f()"],
        {"x": 3},
    ),
    Case(
        "subclass of dict",
        ["class D(dict):\n    def f(self):\n        return len(self)\nX = D(a=1)", G + "return X.f()"],
        {"x": 1},
    ),
    Case(
        "metaclass",
        [
            "class M(type):\n    def f(cls):\n        return 4\nclass A(metaclass=M):\n    pass",
            G + "return A.f()",
        ],
        {"x": 4},
    ),
    Case(
        "class with super and init_subclass",
        [
            "class A:\n    subs = 0\n    def __init_subclass__(cls):\n        A.subs += 1\nclass B(A):\n    pass",
            G + "return A.subs",
        ],
        refused="A changed after it was defined",
    ),
]

SCOPES = [
    Case(
        "comprehension in a class body",
        ["N = 3\nclass A:\n    xs = [i * N for i in range(N)]", G + "return sum(A.xs)"],
        {"x": 9},
    ),
    Case(
        "names of an except clause",
        [
            G
            + "try:\n        1 / 0\n    except ZeroDivisionError as e:\n        return float(len(str(e)) > 0)"
        ],
        {"x": 1.0},
    ),
    Case(
        "annotation of a third-party type",
        ["import numpy as np\nasync def grade(thread: np.ndarray) -> float:\n    return 0.5"],
        {"x": 0.5},
        has="from __future__ import annotations",
        lacks="numpy as",
    ),
    Case(
        "annotation that is gone",
        ["class T: pass\nasync def grade(thread: T) -> float:\n    return 0.5", "del T"],
        {"x": 0.5},
        has="from __future__ import annotations",
    ),
    Case(
        "annotation of a local variable",
        ["async def grade(thread) -> float:\n    x: Nothing = 2\n    return x"],
        {"x": 2},
    ),
    Case(
        "annotation in quotes",
        ["async def grade(thread: 'StringThread') -> 'float':\n    return 0.5"],
        {"x": 0.5},
    ),
    Case(
        "StringThread imported",
        [
            "from workbench import StringThread\nasync def grade(thread: StringThread) -> float:\n    return 0.5"
        ],
        {"x": 0.5},
        has="from __future__ import annotations\n",
        lacks="workbench",
    ),
    Case(
        "StringThread imported, and an annotated function inside",
        [
            "from workbench import StringThread\nasync def grade(thread: StringThread) -> float:\n    def half(n: int) -> float:\n        return n / 2\n    return half(1)"
        ],
        {"x": 0.5},
        has="from workbench import StringThread",
    ),
    Case(
        "StringThread imported, and a class with attributes inside a helper",
        [
            "import workbench as wb\ndef two() -> int:\n    class N:\n        n: int = 2\n    return N.n\nasync def grade(thread: wb.StringThread) -> float:\n    return two() / 4"
        ],
        {"x": 0.5},
        has="import workbench as wb",
    ),
    Case(
        "StringThread imported from its module",
        [
            "from workbench.core.thread import StringThread\nasync def grade(thread: StringThread) -> float:\n    return 0.5"
        ],
        {"x": 0.5},
        lacks="import StringThread",
    ),
    Case(
        "StringThread imported from its module under another name",
        [
            "from workbench.core.thread import StringThread as T\nasync def grade(thread: T) -> float:\n    return 0.5"
        ],
        {"x": 0.5},
        has="thread: T",
        lacks="workbench",
    ),
    Case(
        "StringThread through the module",
        ["import workbench as wb\nasync def grade(thread: wb.StringThread) -> float:\n    return 0.5"],
        {"x": 0.5},
        has="thread: wb.StringThread",
        lacks="import workbench",
    ),
    Case(
        "StringThread annotated beside a dataclass",
        [
            "import dataclasses\nimport workbench as wb",
            "@dataclasses.dataclass\nclass Mark:\n    value: float",
            "async def grade(thread: wb.StringThread) -> float:\n    return dataclasses.fields(Mark)[0].type(0.5)",
        ],
        {"x": 0.5},
        has="import workbench as wb\n",
        lacks="__future__",
    ),
    Case(
        "StringThread annotated and looked at",
        [
            "import typing\nimport workbench as wb",
            "def kind(thread: wb.StringThread):\n    return typing.get_type_hints(kind)['thread'].__name__",
            G + "return float(kind(thread) == 'StringThread')",
        ],
        {"x": 1.0},
        has="import workbench as wb\n",
    ),
    Case(
        "StringThread made and annotated",
        [
            "import workbench as wb",
            "async def grade(thread: wb.StringThread) -> float:\n    return len(wb.StringThread().get_turns())",
        ],
        {"x": 0},
        has="import workbench as wb\n",
        lacks="__future__",
    ),
    Case(
        "StringThread made in the body",
        ["import workbench as wb", G + "return len(wb.StringThread([('user', 'a')]).get_turns())"],
        {"x": 1},
    ),
    Case(
        "StringThread undefined but under future",
        [
            "from __future__ import annotations",
            "async def grade(thread: StringThread) -> float:\n    return 0.5",
        ],
        {"x": 0.5},
        lacks="workbench",
    ),
    Case(
        "other parts of the workbench",
        ["import workbench as wb", G + "return len(wb.Suite([]))"],
        refused="wb.Suite is a part of the workbench",
    ),
    Case(
        "other names of the workbench",
        ["from workbench import Suite", G + "return len(Suite([]))"],
        refused="Suite is a part of the workbench",
    ),
    Case(
        "grades of the workbench",
        ["import workbench as wb", G + "return wb.Grade(0.5).score"],
        {"x": 0.5},
    ),
    Case(
        "a skip under another name",
        [
            "from workbench import Skip as NotMine",
            G + "if not thread.completion():\n        raise NotMine()\n    return 0.5",
        ],
        {"x": 0.5},
    ),
    Case(
        "decorated by us",
        [
            "import workbench as wb\nfrom workbench.graders.code.function import grader\n@grader\nasync def exact(thread: wb.StringThread) -> float:\n    return 0.5"
        ],
        {"x": 0.5},
        capture="exact",
        lacks="@",
    ),
    Case(
        "decorated by us with settings",
        [
            "from workbench.graders.code.function import grader\nD = 'text'\n@grader(name='n',\n        description=D)\n# kept\nasync def exact(thread) -> float:\n    return 0.5"
        ],
        {"x": 0.5},
        capture="exact",
        has="# kept",
        lacks="description",
    ),
    Case(
        "decorated by us, helper below",
        [
            "from workbench.graders.code.function import grader\n@grader\nasync def exact(thread) -> float:\n    return later()\ndef later():\n    return 1.0"
        ],
        refused="later is not defined",
        capture="exact",
    ),
    Case(
        "decorated by us, run twice",
        [
            "from workbench.graders.code.function import grader\n@grader\nasync def exact(thread) -> float:\n    return 0.25",
            "@grader\nasync def exact(thread) -> float:\n    return 0.75",
        ],
        {"x": 0.75},
        capture="exact",
    ),
    Case(
        "a grader used by a grader",
        [
            "from workbench.graders.code.function import grader\n@grader\nasync def one(thread) -> float:\n    return 0.25",
            "async def two(thread) -> float:\n    return one(thread)",
        ],
        refused="one is a part of the workbench",
        capture="two",
    ),
    Case(
        "magic in the body",
        [G + "get_ipython().run_line_magic('time', '1')\n    return 1.0"],
        refused="get_ipython exists only in a notebook",
    ),
    Case(
        "shell line in the body",
        ["async def grade(thread):\n    !true\n    return 1.0"],
        refused="exists only in a notebook",
    ),
    Case(
        "display in the body", [G + "display(1)\n    return 1.0"], refused="display exists only in a notebook"
    ),
    Case("last result", ["1 + 1", G + "return _"], refused="_ exists only in a notebook"),
    Case("open is Python's", [G + "return float(callable(open))"], {"x": 1.0}),
    Case("globals", [G + "return globals().get('K', 1.0)"], refused="globals() cannot be followed"),
    Case(
        "module's own name",
        [G + "return float(__name__ == '__main__')"],
        refused="__name__ has another value",
    ),
    Case("timed cell", ["%%time\nK = 2\nasync def grade(thread):\n    return K"], {"x": 2}),
    Case(
        "magic beside the function", ["%time x = 1\nK = 3\nasync def grade(thread):\n    return K"], {"x": 3}
    ),
    Case(
        "top-level await in the cell",
        ["import asyncio\nawait asyncio.sleep(0)\nasync def grade(thread):\n    return 0.5"],
        {"x": 0.5},
    ),
    Case("semicolon at the end", ["K = 1;\nasync def grade(thread):\n    return K;"], {"x": 1}),
    Case(
        "cell run twice",
        ["K = 1\nasync def grade(thread):\n    return K", "K = 1\nasync def grade(thread):\n    return K"],
        {"x": 1},
    ),
    Case(
        "exec without a source",
        ["exec('async def grade(thread):\\n    return 1.0')"],
        refused="no source text of grade",
    ),
    Case(
        "exec with a source given",
        [
            "import linecache\nsrc = 'async def grade(thread):\\n    return 0.25\\n'\nlinecache.cache['<mine>'] = (len(src), None, src.splitlines(True), '<mine>')\nexec(compile(src, '<mine>', 'exec'))"
        ],
        {"x": 0.25},
    ),
    Case(
        "same cell name for all cells",
        [
            "import os\nos.environ['IPYKERNEL_CELL_NAME'] = '<one>'",
            "def h():\n    return 0.25",
            G + "return h()",
            "del os.environ['IPYKERNEL_CELL_NAME']",
        ],
        {"x": 0.25},
    ),
    Case(
        "cache of sources cleared",
        ["K = 2\n" + G + "return K", "import linecache\nlinecache.cache.clear()"],
        {"x": 2},
    ),
    Case(
        "non-ASCII names",
        ["größe = 2\ndef prüfe(s):\n    return größe * len(s)", G + "return prüfe(thread.completion())"],
        {"é": 2},
    ),
    Case(
        "side effects stay behind",
        ["SEEN = []\nprint('x'); SEEN.append(1)\n" + G + "return 1.0"],
        {"x": 1.0},
        lacks="SEEN",
    ),
]

DECORATED = "from workbench.graders.code.function import grader\nimport functools\n"
HALF = (
    "def half(f):\n    @functools.wraps(f)\n    async def g(thread):\n        return (await f(thread)) / 2\n"
    "    return g\n"
)
SCOPES += [
    Case(
        "annotation made by a statement",
        [
            "from typing import Union\nNum = Union[int, float]\nasync def grade(thread) -> Num:\n    return 0.5"
        ],
        {"x": 0.5},
        has="Num = Union[int, float]",
    ),
    Case(
        "timed cells share one file name",
        [
            "%%time\nK = 2\ndef h():\n    return K",
            "%%time\nK = 3\ndef h():\n    return K + 1",
            G + "return h()",
        ],
        {"x": 4},
    ),
    Case(
        "standard library patched",
        [
            "import colorsys\ncolorsys.rgb_to_hsv = lambda *x: 99",
            G + "return colorsys.rgb_to_hsv(1, 1, 1)",
        ],
        refused="colorsys.rgb_to_hsv was replaced",
    ),
    Case(
        "iterator half used",
        ["I = iter([1, 2, 3])\nnext(I)", G + "return next(I)"],
        refused="I changed after it was defined",
    ),
    Case(
        "view of a dict",
        ["W = {'a': 1}.keys()", G + "return len(W)"],
        refused="W contains a live object",
    ),
    Case(
        "class without any text",
        ["exec('class Z:\\n    k = 1')", G + "return Z.k"],
        refused="Z cannot be written as source",
    ),
    Case(
        "list repeated in a list",
        ["R = [[0]] * 2", G + "return float(R[0] is R[1])"],
        {"x": 1.0},
        has="R = [[0]] * 2",
    ),
    Case(
        "decorated by us over another decorator",
        [DECORATED + HALF, "@grader\n@half\nasync def exact(thread) -> float:\n    return 1.0"],
        {"x": 0.5},
        capture="exact",
        has="@half\nasync def grade",
    ),
    Case(
        "another decorator over ours",
        [
            DECORATED + "def same(f):\n    return f",
            "@same\n@grader\nasync def exact(thread) -> float:\n    return 1.0",
        ],
        {"x": 1.0},
        capture="exact",
    ),
    Case(
        "default that is a helper redefined since",
        [
            "def norm(s):\n    return 1\ndef h(f=norm):\n    return f('')",
            "def norm(s):\n    return 2",
            G + "return h()",
        ],
        refused="changed after it was defined",
    ),
    Case(
        "function kept while its name is deleted",
        [G + "return 0.5", "kept = grade\ndel grade"],
        {"x": 0.5},
        capture="kept",
    ),
    Case(
        "main module imported",
        ["import __main__\nK = 2", G + "return __main__.K"],
        refused="__main__",
    ),
    Case(
        "helper reads a name that a local hides",
        ["K = 5\ndef h(K):\n    return K", G + "return h(1)"],
        {"x": 1},
        lacks="K = 5",
    ),
    Case(
        "regex flags and sets of enums",
        [
            "import enum\nclass L(enum.Enum):\n    A = 1\n    B = 2\nGOOD = {L.A, L.B}",
            G + "return float(len(GOOD))",
        ],
        {"x": 2.0},
    ),
    Case(
        "order of a late name under an eager one",
        [
            "W = {'a': 1}\ndef rule(s):\n    return W[s]\nclass R:\n    def __init__(self, s):\n        self.v = rule(s)\nX = R('a')",
            G + "return X.v",
        ],
        {"x": 1},
    ),
]

TEXTS = [
    Case(
        "cell text whose annotation is third-party",
        ["import numpy as np"],
        {"x": 0.5},
        text="async def grade(thread: np.ndarray) -> float:\n    return 0.5\n",
        has="from __future__ import annotations\n",
    ),
    Case(
        "cell text with a comprehension",
        ["W = ['a', 'b']"],
        {"a": 1.0},
        text="T = {k: 1.0 for k in W}\n\n\nasync def grade(thread):\n    return T[thread.completion()]\n",
    ),
    Case(
        "cell text reads the notebook",
        ["import re\nW = 2\ndef h(s):\n    return W * len(re.findall('a', s))"],
        {"aa": 4},
        text="async def grade(thread):\n    return h(thread.completion())\n",
    ),
    Case(
        "cell text with its own helper",
        ["W = 9"],
        {"x": 3},
        text="W = 3\n\nasync def mine(thread):\n    return W\n",
        has="async def grade",
        lacks="W = 9",
    ),
    Case(
        "cell text reads nothing known",
        ["x = 1"],
        refused="gone is not defined",
        text="async def grade(thread):\n    return gone\n",
    ),
    Case(
        "cell text reads a third-party module",
        ["import numpy as np"],
        refused="numpy is not in the standard library",
        text="async def grade(thread):\n    return float(np.mean([1]))\n",
    ),
    Case(
        "cell text with a docstring and future import",
        ["K = 2"],
        {"x": 2},
        text='"""Doc."""\nfrom __future__ import annotations\n\nasync def grade(thread: Any):\n    return K\n',
        has='"""Doc."""\nfrom __future__ import annotations\n\nK = 2\n',
    ),
    Case(
        "cell text uses a filled registry",
        ["R = {}\nclass A:\n    n = R\nOBJ = A()\nOBJ.z = 1"],
        refused="OBJ changed after",
        text="async def grade(thread):\n    return len(OBJ.n)\n",
    ),
]

RUN_TIME = [
    Case("eval of a literal", ["K = 2", G + "return eval('K + 1')"], {"x": 3}, has="K = 2\n"),
    Case(
        "eval of a literal with a variable of the function",
        ["K = 2", G + "n = 5\n    return eval('K + n')"],
        {"x": 7},
    ),
    Case(
        "exec of a literal that calls a helper",
        [
            "K = 2\ndef h():\n    return K",
            G + "space = []\n    exec('space.append(h())')\n    return space[0]",
        ],
        {"x": 2},
        has="def h():",
    ),
    Case(
        "eval of a text made at run time",
        ["K = 2", G + "return eval('K' + '')"],
        refused="eval() cannot be followed",
    ),
    Case(
        "eval of the answer",
        [G + "return float(eval(thread.completion()))"],
        refused="eval() cannot be followed",
    ),
    Case(
        "eval with names of its own",
        ["K = 2", G + "return float(eval(thread.completion(), {'__builtins__': {}, 'K': K}))"],
        {"K * 3": 6.0},
        has="K = 2\n",
    ),
    Case(
        "eval handed on",
        ["K = 2", G + "return sum(map(eval, ['K']))"],
        refused="eval() cannot be followed",
    ),
    Case(
        "exec of a name",
        ["C = 'x = K'\nK = 1", G + "exec(C)\n    return 1.0"],
        refused="exec() cannot be followed",
    ),
    Case(
        "eval within eval", ["K = 2", G + "return eval('eval(\"K\")')"], refused="eval() cannot be followed"
    ),
    Case(
        "eval of globals",
        ["K = 2", G + "return eval('globals()[\"K\"]')"],
        refused="eval() cannot be followed",
    ),
    Case("an eval of one's own", ["def eval(x):\n    return 4.0", G + "return eval('K')"], {"x": 4.0}),
    Case("locals of the function", [G + "n = 2\n    return locals()['n'] + vars()['n']"], {"x": 4}),
    Case(
        "vars of the notebook in an object",
        ["import functools\nP = functools.partial(max, len(vars()))", G + "return P(1)"],
        refused="vars() cannot be followed",
    ),
    Case("literal_eval is another", ["import ast", G + "return ast.literal_eval('2')"], {"x": 2}),
    Case(
        "eval in a text",
        ["K = 3"],
        {"x": 3},
        text="async def grade(thread):\n    return eval('K')\n",
        has="K = 3\n",
    ),
    Case(
        "eval in a text that cannot be followed",
        ["K = 3"],
        text="async def grade(thread):\n    return eval(thread.completion())\n",
        refused="eval() cannot be followed",
    ),
]

LIBRARY = [
    Case(
        "decimal context",
        ["import decimal\ndecimal.getcontext().prec = 3", G + "return float(decimal.Decimal(1) / 3)"],
        refused="decimal.getcontext() was changed in this session",
    ),
    Case(
        "decimal context put back",
        ["import decimal\ndecimal.setcontext(decimal.Context())", G + "return float(decimal.Decimal(1) / 4)"],
        {"x": 0.25},
    ),
    Case(
        "decimal context inside the function",
        [
            "import decimal",
            G
            + "with decimal.localcontext(decimal.Context(prec=3)):\n        return float(decimal.Decimal(1) / 3)",
        ],
        {"x": 0.333},
    ),
    Case(
        "constant of the standard library changed",
        ["import math\nold, math.tau = math.tau, 1.0", "import math as m", G + "return m.tau"],
        refused="math.tau has another value here",
    ),
    Case(
        "constant of the standard library put back",
        ["import math\nmath.tau = old if 'old' in dir() else 2 * math.pi", G + "return math.tau - math.pi"],
        {"x": 3.141592653589793},
    ),
    Case(
        "changed constant imported by name",
        [
            "import string\nkept = string.digits\nstring.digits = '0'",
            "from string import digits",
            G + "return len(digits)",
        ],
        refused="digits",
    ),
    Case(
        "changed constant imported inside the function",
        ["import string\nstring.digits = '0'", G + "import string\n    return len(string.digits)"],
        refused="string.digits has another value here",
    ),
    Case(
        "constant put back",
        ["import string\nstring.digits = '0123456789'", G + "return len(string.digits)"],
        {"x": 10},
    ),
    Case(
        "random seeded in a cell",
        ["import random\nrandom.seed(7)", G + "return random.random()"],
        refused="random was changed in this session",
    ),
    Case(
        "random with a generator of its own",
        ["import random\nrandom.seed(7)", G + "return round(random.Random(7).random(), 3)"],
        {"x": 0.324},
    ),
    Case(
        "random seeded inside the function",
        ["import random\nrandom.seed(7)", G + "random.seed(7)\n    return round(random.random(), 3)"],
        {"x": 0.324},
    ),
    Case(
        "locale set in a cell",
        [
            "import locale\nn = locale.setlocale(locale.LC_TIME, 'C.UTF-8')",
            "import time",
            G + "return float(time.strftime('%Y', time.gmtime(0)))",
        ],
        refused="the locale was changed in this session",
    ),
    Case(
        "locale put back",
        [
            "import locale\nn = locale.setlocale(locale.LC_TIME, 'C')",
            "import time",
            G + "return float(time.strftime('%Y', time.gmtime(0)))",
        ],
        {"x": 1970.0},
    ),
]


UNRECORDED = [
    Case(
        "without a record: helpers",
        [
            "import re\nK = 2",
            "def h(s):\n    return K * len(re.findall('a', s))",
            G + "return h(thread.completion())",
        ],
        {"aa": 4},
        record=False,
    ),
    Case("without a record: class", ["class A:\n    k = 4", G + "return A.k"], {"x": 4}, record=False),
    Case(
        "without a record: timed cell",
        ["%%time\nasync def grade(thread):\n    return 1"],
        refused="no source text of grade",
        record=False,
    ),
]

CASES = [*IMPORTS, *CONSTANTS, *SECRETS, *FUNCTIONS, *CLASSES, *SCOPES, *TEXTS, *RUN_TIME, *LIBRARY]
