"""Templates nobody would write: ours and the real implementations agree on those too."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.data.templates.test_real import VALUES, compare

BATCH = 25
SETTINGS = settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
SPACE = st.sampled_from(["", " ", "\n", "  \n", "\n  ", "\r\n", "\t", " \n \n"])
TEXT = st.one_of(
    SPACE, SPACE, st.sampled_from(["x", "é ", "{", "}", "\\", "}} ", "a\nb", "<&>", "\u00a0", "\ufeff"])
)
NAMES = [
    "s",
    "n",
    "zero",
    "yes",
    "no",
    "none",
    "list",
    "nothing",
    "d",
    "rows",
    "mixed",
    "nested",
    "bare",
    "name",
    "tags",
    "nope",
]
PATHS = [*NAMES, "d.a", "d.b.c", "d.b.list", "d/b", "this", ".", "../name", "../../n", "this.name", "./d", "d.[two words]", "@index", "@key", "@first", "@last", "@root.name", "@../index", "list.length", "list.1", "item", "item.name", "at", "rows.0.tags"]  # fmt: skip
TILDE = st.sampled_from(["", "", "", "~"])


@st.composite
def tag(draw, inside):
    return "{{" + draw(TILDE) + inside + draw(TILDE) + "}}"


def handlebars_leaf():
    put = st.sampled_from(PATHS).flatmap(tag)
    # Unescaped numbers side by side would be added up by the real one.
    raw = st.sampled_from(PATHS).map(lambda path: "<{{{" + path + "}}}>")
    other = st.sampled_from(["{{! c }}", "{{!-- c }} --}}", "{{~! c ~}}", "\\{{s}} ", "\\\\{{n}}", "{{lookup d name}}", "{{lookup list 1}}", "{{{{raw}}}} {{x}}\n{{{{/raw}}}}"])  # fmt: skip
    return st.one_of(TEXT, TEXT, put, raw, other)


@st.composite
def handlebars_block(draw, inner):
    word = draw(st.sampled_from(["if", "unless", "each", "with", "", "^"]))
    path = draw(st.sampled_from([path for path in PATHS if path != "." or word not in {"", "^"}]))
    names = draw(st.sampled_from(["", "", " as |item at|"])) if word in {"each", "with"} else ""
    opening = {"": f"#{path}", "^": f"^{path}"}.get(word, f"#{word} {path}{names}")
    parts = [draw(tag(opening)), draw(inner)]
    if draw(st.booleans()) and word != "^":
        parts += [draw(tag(f"else if {draw(st.sampled_from(PATHS))}")), draw(inner)]
    if draw(st.booleans()):
        parts += [draw(tag(draw(st.sampled_from(["else", "^", " else "])))), draw(inner)]
    return "".join([*parts, draw(tag("/" + (word if word not in {"", "^"} else path)))])


def joined(strategy):
    return st.lists(strategy, max_size=5).map("".join)


def handlebars():
    inner = st.recursive(
        handlebars_leaf(),
        lambda children: st.one_of(joined(children), handlebars_block(joined(children))),
        max_leaves=12,
    )
    return joined(inner)


MUSTACHE_NAMES = [*NAMES, "d.a", "d.b.c", "d.x.y", "list.length", ".", "two words", "d.b.list", "tags.0"]


def mustache_leaf():
    names = st.sampled_from(MUSTACHE_NAMES)
    puts = st.one_of(names.map(lambda n: "{{" + n + "}}"), names.map(lambda n: "{{{ " + n + " }}}"), names.map(lambda n: "{{& " + n + "}}"))  # fmt: skip
    return st.one_of(
        TEXT, TEXT, puts, st.sampled_from(["{{! c }}", "{{!\n}}", "{{=<% %>=}}<%s%><%={{ }}=%>"])
    )


@st.composite
def mustache_section(draw, inner):
    # A section over a list that holds null stops the real one; ours reads null as a context without names.
    name = draw(st.sampled_from([name for name in MUSTACHE_NAMES if name != "mixed"]))
    return "{{" + draw(st.sampled_from("#^")) + name + "}}" + draw(inner) + "{{/" + name + "}}"


def mustache():
    return joined(
        st.recursive(
            mustache_leaf(), lambda one: st.one_of(joined(one), mustache_section(joined(one))), max_leaves=12
        )
    )


@SETTINGS
@given(st.lists(handlebars(), min_size=BATCH, max_size=BATCH))
def test_random_handlebars(texts):
    """Any nest of blocks, tildes, escapes and line breaks gives the same text."""
    compare([("handlebars", text, VALUES) for text in texts])


@SETTINGS
@given(st.lists(mustache(), min_size=BATCH, max_size=BATCH))
def test_random_mustache(texts):
    """Any nest of sections, delimiters and line breaks gives the same text."""
    compare([("mustache", text, VALUES) for text in texts])


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.text(max_size=6),
    st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip
# Keys like numbers are sorted first by JavaScript; ours keep their order.
DATA = st.recursive(
    SCALARS,
    lambda one: st.one_of(
        st.lists(one, max_size=3), st.dictionaries(st.sampled_from("abc"), one, max_size=3)
    ),
    max_leaves=8,
)


@SETTINGS
@given(st.lists(st.fixed_dictionaries({"v": DATA}), min_size=BATCH, max_size=BATCH))
def test_random_values(rows):
    """Any plain value reads, counts as true and is looped over as in JavaScript."""
    text = "{{v}}|{{#if v}}t{{/if}}|{{#v}}s{{.}}{{/v}}|{{#each v}}{{@key}}{{this}}{{@last}},{{else}}e{{/each}}|{{#with v}}w{{this}}{{/with}}"
    compare([("handlebars", text, row) for row in rows])
    compare([("mustache", "{{v}}|{{#v}}s{{/v}}|{{^v}}i{{/v}}|{{v.a}}", row) for row in rows])
