"""Images of the rows in judges' requests."""

import base64
import json

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from workbench.core.errors import FormatError
from workbench.judges import OpenAIClient, ScriptedClient
from workbench.judges.budget import IMAGE_TOKENS, pending_question

SAID = '{"reasoning": "fine", "score": "PASS"}'
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(200)) * 50
DATA = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
URL = "https://example.org/cat.png"
CHAT = [
    {"role": "user", "content": [{"type": "text", "text": "What is this?"},
                                 {"type": "image_url", "image_url": {"url": URL, "detail": "low"}}]},
    {"role": "assistant", "content": "A cat."},
]  # fmt: skip


def judge(**fields):
    return wb.BinaryJudge(
        "true of the image", model="gpt-4o-mini", images="images", max_tokens=50, name="j", **fields
    )


def images_of(messages):
    content = messages[-1]["content"]
    return (
        [part["image_url"] for part in content if part["type"] == "image_url"]
        if isinstance(content, list)
        else []
    )


@pytest.mark.parametrize(
    ("cell", "urls"),
    [
        (URL, [URL]),
        (DATA, [DATA]),
        (PNG, [DATA]),
        ([URL, {"bytes": PNG, "path": None}], [URL, DATA]),
        ({"type": "image_url", "image_url": {"url": URL}}, [URL]),
        (None, []),
        ([], []),
    ],
    ids=["address", "data", "bytes", "list", "part", "none", "empty"],
)
def test_a_column_of_images_is_sent(cell, urls):
    """After the text of the last message, which is otherwise the one of a judge without images."""
    samples = wb.Samples(
        [
            {"prompt": "q", "completion": "a", "images": cell},
            {"prompt": "p", "completion": "b", "images": URL},
        ]
    )
    messages = judge().preview(samples[0])
    assert [image["url"] for image in images_of(messages)] == urls
    plain = wb.BinaryJudge("true of the image").preview(samples[0])
    text = messages[-1]["content"][0]["text"] if urls else messages[-1]["content"]
    assert (messages[:-1], text) == (plain[:-1], plain[-1]["content"])


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_image", "image_url": DATA},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": DATA.partition(",")[2]},
        },
        {"inlineData": {"mimeType": "image/png", "data": DATA.partition(",")[2]}},
    ],
    ids=["responses", "anthropic", "gemini"],
)
def test_images_in_messages_are_sent(part):
    """Each platform's parts become OpenAI's; the thread keeps its mark for graders that read text."""
    said = "parts" if "inlineData" in part else "content"
    text = {"text": "What is it?"} if said == "parts" else {"type": "text", "text": "What is it?"}
    chat = [
        {"role": "user", said: [text, part]},
        {"role": "assistant", said: [{**text, "text": "A cat."}] if said == "parts" else "A cat."},
    ]
    sample = wb.Samples([{"messages": chat}])[0]
    assert sample.thread.get_turns()[0].content == "What is it?[image]"
    assert images_of(judge().preview(sample)) == [{"url": DATA}]


def test_a_server_gets_the_parts_of_the_row():
    """In a run, over both APIs, with an example shown before; a row without an image is sent without."""
    rows = [
        {"messages": CHAT},
        {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "A cat."}]},
    ]
    example = {
        "input": "Who?",
        "output": "Me.",
        "reply": {"score": 1, "reasoning": "r", "pass": True, "rationale": "r"},
    }
    with server(lambda *_: (200, {}, completion('{"score": 1.0, "rationale": "r"}'))) as (address, requests):
        one = wb.RubricJudge(
            "is it right?", model="m", base_url=address, images="images", examples=(example,)
        )
        assert one.run(rows, progress=False).summary["scored"].iloc[0] == 2
    with_image, without = sorted(
        (body["messages"] for _, body, _ in requests), key=lambda m: -len(images_of(m))
    )
    assert images_of(with_image) == [{"url": URL, "detail": "low"}]
    assert images_of(without) == []
    assert all(isinstance(message["content"], str) for message in with_image[:-1])


def test_the_responses_api_has_its_own_parts():
    """`input_text` and `input_image`."""
    from tests.judges.test_responses_api import REQUEST, message, response

    with server(lambda *_: (200, {}, response(message(SAID)))) as (address, requests):
        judge(client=OpenAIClient(address, api="responses")).run([{"messages": CHAT}], progress=False)
    body = requests[0][1]
    REQUEST.validate_python(body)
    assert [part["type"] for part in body["input"][-1]["content"]] == ["input_text", "input_image"]
    assert body["input"][-1]["content"][1] == {"type": "input_image", "image_url": URL, "detail": "low"}


def test_a_model_without_images_fails_the_row():
    """Its own words are the error; the row is not graded without its image."""
    refused = (
        400,
        {},
        {"error": {"message": "Invalid content type. image_url is only supported by certain models."}},
    )
    with server(lambda *_: refused) as (address, requests):
        report = judge(client=OpenAIClient(address)).run([{"messages": CHAT}], progress=False)
    assert report.summary["failed"].iloc[0] == 1
    assert "image_url is only supported" in str(report.frame["error"].iloc[0])
    assert all(images_of(body["messages"]) for _, body, _ in requests)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"images": "file:///etc/passwd"}, "is not an image"),
        ({"images": "/etc/passwd"}, "is not an image"),
        ({"images": b"MZ no image"}, "is not an image"),
        ({"images": [URL] * 101}, "at most 100"),
        ({"pictures": URL, "prompt": "[image]"}, "no images in 'images'; its columns are: 'pictures'"),
    ],
    ids=["file address", "path", "bytes", "many", "other column"],
)
def test_what_is_not_an_image_fails_the_row(row, message):
    """A row never makes the judge read a file of this machine; an error names the column."""
    client = ScriptedClient(SAID)
    grade = judge(client=client).run([{"prompt": "q", "completion": "a", **row}], progress=False)
    assert grade.errors["error_kind"].tolist() == ["sample"]
    assert message in str(grade.frame["error"].iloc[0])
    assert not client.calls


def test_an_image_costs_its_tokens_and_not_its_bytes():
    """A budget reserves the most that a model counts for an image, however large its file is."""
    small, large = (
        judge().preview(wb.Samples([{"prompt": "q", "completion": "a", "images": data}])[0])
        for data in (URL, PNG * 50)
    )
    settings = judge().request_settings()
    sizes = [
        pending_question(ScriptedClient(SAID), one, settings, with_size=True).size for one in (small, large)
    ]
    assert sizes[0] == sizes[1]
    assert IMAGE_TOKENS < sizes[0] < 2 * IMAGE_TOKENS


def test_the_setting_is_part_of_the_judge():
    """It survives a file, and another type is refused."""
    spec = judge().spec()
    assert spec["images"] == "images"
    assert json.loads(json.dumps(spec)) == spec
    with pytest.raises(FormatError, match="images must be the name of a column"):
        wb.BinaryJudge("x", images=True)
