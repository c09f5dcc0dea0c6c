"""`StringThread` against the contract graders are written for."""

from __future__ import annotations

import marshal
from collections import UserList, namedtuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.thread import StringThread, Turn

ROLE = st.sampled_from(["system", "user", "assistant", "tool", "document", "Assistant", ""])
TURNS = st.lists(st.tuples(ROLE, st.text(st.characters(), max_size=20)), max_size=6)
QUESTION = ("user", "What is 2+2?")
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}


class TestMaking:
    def test_nothing_given(self):
        """A thread without arguments has no turns, no completion and metadata None."""
        thread = StringThread()
        assert thread.get_turns() == thread.messages() == thread.tool_calls() == thread.tools == []
        assert thread.completion() is None
        assert thread.metadata is None

    @pytest.mark.parametrize("kind", [list, tuple, UserList])
    @pytest.mark.parametrize("pair", [tuple, list, Turn._make])
    def test_any_sequence_of_pairs(self, kind, pair):
        """Turns come as any sequence of pairs."""
        assert StringThread(kind([pair(QUESTION)])).get_turns() == [QUESTION]

    @pytest.mark.parametrize(
        "turns", [iter([QUESTION]), (t for t in [QUESTION]), "ab", b"ab", 5, {1: 2}, {QUESTION}]
    )
    def test_iterators_and_other_things_are_refused(self, turns):
        """An iterator, text, a number, a dict or a set is no sequence of turns."""
        with pytest.raises(TypeError, match="turns must be a sequence"):
            StringThread(turns)

    @pytest.mark.parametrize("turn", [("user",), ("user", "a", "b"), ()])
    def test_turns_of_another_length_are_a_value_error(self, turn):
        """A turn has exactly two parts; the turn is numbered."""
        with pytest.raises(ValueError, match="turn 1 must have 2 parts"):
            StringThread([QUESTION, turn])

    @pytest.mark.parametrize("turn", [("user", 1), (None, "a"), ("user", b"a"), "ab", 5, {"role": "user"}])
    def test_turns_of_another_type_are_a_type_error(self, turn):
        """Role and content are text in a tuple or list; the turn is numbered."""
        with pytest.raises(TypeError, match="turn 0 must be"):
            StringThread([turn])

    @pytest.mark.parametrize("metadata", [{}, {"expected": "4"}, "text", 5, [1]])
    def test_metadata_is_anything_and_settable(self, metadata):
        """Metadata is kept as given, the very object, and can be set."""
        thread = StringThread([QUESTION], metadata)
        assert thread.metadata is metadata
        thread.metadata = {"new": 1}
        assert thread.metadata == {"new": 1}

    def test_the_callers_list_is_not_kept(self):
        """Changing the list given, or a list returned, does not change the thread."""
        turns = [QUESTION]
        thread = StringThread(turns)
        turns.append(("assistant", "4"))
        thread.get_turns().clear()
        assert thread.get_turns() == [QUESTION]


class TestReading:
    @pytest.mark.parametrize(
        ("last", "completion"),
        [
            (("assistant", "4"), "4"),
            (("assistant", ""), ""),
            (("tool", "x"), None),
            (("Assistant", "4"), None),
            (("assistant ", "4"), None),
            (("user", "4"), None),
        ],
    )
    def test_completion_is_the_last_turn_of_exactly_the_assistant(self, last, completion):
        """Only a closing turn whose role is exactly assistant is a completion; empty text stays empty."""
        assert StringThread([QUESTION, ("assistant", "early"), last]).completion() == completion

    def test_messages_drop_one_closing_assistant_turn(self):
        """Of two closing assistant turns one stays; without one nothing is dropped."""
        both = StringThread([QUESTION, ("assistant", "a"), ("assistant", "b")])
        assert both.messages() == [QUESTION, ("assistant", "a")]
        assert StringThread([QUESTION]).messages() == [QUESTION]
        assert StringThread([("assistant", "a")]).messages() == []

    def test_turns_are_named_tuples_with_free_roles(self):
        """Turns unpack, have role and content, and any role is kept as written."""
        thread = StringThread([("document", "d"), ("banana", "x")])
        role, content = thread.get_turns()[0]
        assert (role, content) == ("document", "d")
        assert [turn.role for turn in thread.get_turns()] == ["document", "banana"]
        assert thread.messages()[1].content == "x"

    def test_last_content(self):
        """The last turn's text, whoever spoke; a thread without turns raises."""
        assert StringThread([("assistant", "4"), ("tool", "x")]).last_content() == "x"
        with pytest.raises(ValueError, match="without turns"):
            StringThread().last_content()

    @given(TURNS)
    def test_parts_agree(self, turns):
        """Messages and the completion together are all turns, in order."""
        thread = StringThread(turns)
        said = thread.completion()
        assert (
            thread.messages() + ([("assistant", said)] if said is not None else [])
            == thread.get_turns()
            == turns
        )


class TestBuilding:
    def test_builders_return_new_threads(self):
        """Every builder adds a turn to a new thread and leaves the old one alone."""
        base = StringThread(metadata={"k": 1})
        thread = base.system("s").user("u").assistant("a").tool("t", call_id="c").tool("t2")
        assert thread.get_turns() == [
            ("system", "s"),
            ("user", "u"),
            ("assistant", "a"),
            ("tool", "t"),
            ("tool", "t2"),
        ]
        assert thread.metadata == {"k": 1}
        assert base.get_turns() == []

    def test_builders_keep_calls_and_tools(self):
        """Tool calls and tools travel to the new thread."""
        base = StringThread.from_messages(
            [{"role": "assistant", "tool_calls": [CALL]}], tools=[{"type": "function"}]
        )
        thread = base.tool("4", "c1")
        assert thread.tool_calls() == [CALL]
        assert thread.tools == [{"type": "function"}]

    def test_builders_refuse_what_is_no_text(self):
        """A builder takes text only."""
        with pytest.raises(TypeError, match="two texts"):
            StringThread().user(4)

    @given(TURNS, st.text(max_size=5))
    def test_an_assistant_turn_is_the_completion(self, turns, text):
        """Whatever came before, the assistant turn added last is the completion."""
        assert StringThread(turns).assistant(text).completion() == text


class TestMessages:
    def test_content_in_parts(self):
        """Text parts are joined, images leave a marker, reasoning and unknown parts are left out."""
        parts = [
            {"type": "text", "text": "Look: "},
            {"type": "image_url", "image_url": {"url": "x"}},
            {"type": "reasoning", "content": "hidden"},
            "end",
            5,
        ]
        assert (
            StringThread.from_messages([{"role": "user", "content": parts}]).last_content()
            == "Look: [image]end"
        )

    def test_a_turn_that_only_calls_tools_reads_empty(self):
        """A call-only assistant turn is a completion of empty text, and its calls are readable."""
        thread = StringThread.from_messages([{"role": "assistant", "content": None, "tool_calls": [CALL]}])
        assert thread.completion() == ""
        assert thread.tool_calls() == [CALL]

    def test_calls_come_in_order_over_all_turns(self):
        """Calls of several turns are listed in the order they were made."""
        calls = [{**CALL, "id": str(number)} for number in range(3)]
        thread = StringThread.from_messages(
            [
                {"role": "assistant", "tool_calls": calls[:2]},
                {"role": "tool", "content": "4", "tool_call_id": "0"},
                {"role": "assistant", "content": "and", "tool_calls": calls[2:]},
            ]
        )
        assert [call["id"] for call in thread.tool_calls()] == ["0", "1", "2"]

    @pytest.mark.parametrize(
        ("message", "error", "words"),
        [
            ("text", TypeError, "message 1 must be a dict"),
            ({"content": "x"}, ValueError, "message 1 has no role"),
            ({"role": 5, "content": "x"}, TypeError, "role must be text"),
            ({"role": "user", "content": 5}, TypeError, "content must be text"),
            ({"role": "user", "content": b"x"}, TypeError, "content must be text"),
            ({"role": "assistant", "tool_calls": "add"}, TypeError, "tool_calls must be a list"),
        ],
    )
    def test_bad_messages_are_numbered(self, message, error, words):
        """The error names the message, what is wrong and the type found."""
        with pytest.raises(error, match=words):
            StringThread.from_messages([{"role": "user", "content": "ok"}, message])

    @given(TURNS)
    def test_messages_of_text_are_the_turns(self, turns):
        """Chat dicts of plain text give the same thread as pairs."""
        chat = [{"role": role, "content": content} for role, content in turns]
        assert StringThread.from_messages(chat).to_wire() == StringThread(turns).to_wire()


class TestWire:
    @given(
        TURNS,
        st.none() | st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3),
    )
    def test_a_thread_survives_the_wire(self, turns, metadata):
        """Encoded and decoded, a thread reads the same."""
        thread = StringThread(turns, metadata)
        other = StringThread.from_wire(marshal.loads(marshal.dumps(thread.to_wire())))
        assert other.to_wire() == thread.to_wire()
        assert (other.completion(), other.messages()) == (thread.completion(), thread.messages())

    def test_calls_and_tools_survive_the_wire(self):
        """Tool calls and tools come through."""
        thread = StringThread.from_messages([{"role": "assistant", "tool_calls": [CALL]}], tools=[{"a": 1}])
        other = StringThread.from_wire(marshal.loads(marshal.dumps(thread.to_wire())))
        assert other.tool_calls() == [CALL]
        assert other.tools == [{"a": 1}]

    def test_long_text_is_cut_in_the_repr(self):
        """The repr counts the turns and shows the start of the last."""
        assert repr(StringThread([QUESTION])) == "StringThread(1 turn, last 'What is 2+2?')"
        assert (
            repr(StringThread([QUESTION, ("user", "x" * 99)]))
            == f"StringThread(2 turns, last {'x' * 39 + '…'!r})"
        )

    def test_subclassed_turns_are_taken(self):
        """A named tuple of another kind is a pair like any other."""
        Pair = namedtuple("Pair", "who what")  # noqa: PYI024
        assert StringThread([Pair(*QUESTION)]).get_turns() == [QUESTION]


class TestToolAnswers:
    """Which call a tool turn answers, and calls written as content blocks."""

    def test_ids_are_kept(self):
        """`tool_call_id`, the builder's argument, the wire and copies all keep them."""
        chat = [
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "f"}}]},
            {"role": "tool", "content": "r", "tool_call_id": "c1"},
        ]
        thread = StringThread.from_messages(chat).tool("again", "c2").assistant("done")
        other = StringThread.from_wire(marshal.loads(marshal.dumps(thread.to_wire())))
        assert [other.turn_answers(at) for at in range(4)] == [None, "c1", "c2", None]
        assert [len(other.turn_calls(at)) for at in range(2)] == [1, 0]

    def test_anthropic_parts(self):
        """`tool_use` parts become calls in OpenAI's shape, each `tool_result` a turn of its own that answers its call."""
        messages = [
            {"role": "user", "content": "3 * 4, and 5 * 6?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": "let me see"},
                    {"type": "tool_use", "id": "t1", "name": "multiply", "input": {"a": 3, "b": 4}},
                    {"type": "tool_use", "id": "t2", "name": "multiply", "input": {"a": 5, "b": 6}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "12"},
                    {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "30"}]},
                    {"type": "text", "text": "go on"},
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "12 and 30"}]},
        ]
        thread = StringThread.from_messages(messages)
        assert thread.get_turns()[1:] == [
            ("assistant", "let me see"),
            ("tool", "12"),
            ("tool", "30"),
            ("user", "go on"),
            ("assistant", "12 and 30"),
        ]
        assert [call["id"] for call in thread.turn_calls(1)] == ["t1", "t2"]
        function = {"name": "multiply", "arguments": '{"a": 3, "b": 4}'}
        assert thread.tool_calls()[0] == {"id": "t1", "type": "function", "function": function}
        assert [thread.turn_answers(at) for at in range(6)] == [None, None, "t1", "t2", None, None]
        assert StringThread.from_wire(thread.to_wire()).tool_calls() == thread.tool_calls()

    def test_a_servers_tools_are_called_and_answered_in_one_message(self):
        """The call comes first, then what was found, then what the model says of it."""
        content = [
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": '{"query": "q"}'},
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"title": "T", "url": "U"}]},
            {"type": "text", "text": "found"},
        ]
        thread = StringThread.from_messages([{"role": "assistant", "content": content}])
        assert thread.get_turns() == [("assistant", ""), ("tool", "T\nU"), ("assistant", "found")]
        assert thread.turn_calls(0)[0]["function"]["arguments"] == '{"query": "q"}'
        assert (thread.turn_answers(1), thread.completion()) == ("s", "found")

    def test_a_message_of_results_alone_is_no_user_turn(self):
        """What a tool returned is not what a user asked; an empty or odd result reads as no text."""
        results = [
            {"type": "tool_result", "tool_use_id": "t"},
            {"type": "tool_result", "content": [{"image": 1}, 3]},
        ]
        thread = StringThread.from_messages([{"role": "user", "content": results}])
        assert thread.get_turns() == [("tool", ""), ("tool", "")]
        assert (thread.turn_answers(0), thread.turn_answers(1)) == ("t", None)

    def test_content_blocks(self):
        """`toolUse` and `toolResult` blocks become calls and answers; the block stays beside the call."""
        block = {"toolUseId": "t1", "name": "multiply", "input": {"a": 3}}
        chat = [
            {"role": "assistant", "content": [{"text": "let me see"}, {"toolUse": block}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "12"}]}}]},
        ]
        thread = StringThread.from_messages(chat)
        (call,) = thread.tool_calls()
        assert (call["function"]["name"], call["function"]["arguments"]) == ("multiply", '{"a": 3}')
        assert call["toolUse"] == block
        assert thread.get_turns()[1].content == "12"
        assert thread.turn_answers(1) == "t1"
