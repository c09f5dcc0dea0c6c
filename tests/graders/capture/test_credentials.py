"""What counts as a credential in captured values and in source text."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.core.errors import CaptureError, WorkbenchError
from workbench.graders.capture.source import Source, refuse_credentials, refuse_credentials_in

KEY = "AKIA" + "ABCDEFGHIJKLMNOP"
DOCUMENTED = "AKIAIOSFODNN7EXAMPLE"


def refused(name, value):
    try:
        refuse_credentials(name, value)
    except CaptureError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"# as {DOCUMENTED}\nX = '{KEY}'\n", 2),
        (f"X = '{DOCUMENTED} {KEY}'  # EXAMPLE\n", 1),
        (f"# EXAMPLE\n\nX = '{KEY}'\n", 3),
    ],
)
def test_an_example_hides_no_key(text, line):
    """A key is found, and its line named, also behind the key that a documentation shows as an example."""
    with pytest.raises(CaptureError, match=f"line {line} looks like a credential") as error:
        refuse_credentials_in(text, "g.py")
    assert KEY not in str(error.value)


def test_an_example_is_no_key():
    """The key that AWS's documentation shows may stand in a source and in a value."""
    refuse_credentials_in(f"X = '{DOCUMENTED}'\n", "g.py")
    assert not refused("X", f"such as {DOCUMENTED}")


@pytest.mark.parametrize(
    ("name", "value", "is_refused"),
    [
        ("X", f"{DOCUMENTED} or {KEY}", True),
        ("X", {"a": [("b", KEY)]}, True),
        ("X", {KEY: 1}, True),
        ("X", KEY.encode(), True),
        ("api_key", "hunter2", True),
        ("api_key", "the name of a column", False),
        ("api_key", " ", False),
        ("token", "a1b2c3d4", True),
        ("token", "a1b2c3d", False),
        ("token", "<eos>", False),
        ("X", "a1b2c3d4", False),
        ("X", 7, False),
    ],
)
def test_values_by_name_and_shape(name, value, is_refused):
    """A secret's name and a text without spaces, a token's name and a run of letters and digits, or a known shape."""
    assert bool(refused(name, value)) == is_refused


@pytest.mark.parametrize(
    ("variable", "value", "is_refused"),
    [
        ("MY_API_KEY", "correct horse", True),
        ("MY_TOKEN", "correct horse", True),
        ("MY_API_KEY", "12345678", True),
        ("MY_API_KEY", "1234567", False),
        ("MY_COLUMN", "correct horse", False),
    ],
)
def test_secrets_of_the_environment(variable, value, is_refused, monkeypatch):
    """A value of eight characters or more that the environment has under a secret's name is refused by any name."""
    monkeypatch.setenv(variable, value)
    assert bool(refused("X", value)) == is_refused


@pytest.mark.parametrize("value", ["r0tten-apples", "correct horse", "Zx9/+pq==k"])
@pytest.mark.parametrize("text", ["Bearer {}", "https://host/x?key={}&y=1", "a {}!", "{}"])
def test_a_secret_inside_a_longer_text(value, text, monkeypatch):
    """With what stands before it in a header, and as it is spelled in an address; in a value and in a source."""
    monkeypatch.setenv("MY_API_KEY", value)
    for spelled in (value, quote(value, safe="")):
        constant = text.format(spelled)
        assert refused("X", constant)
        with pytest.raises(CaptureError, match="line 2 looks like a credential") as error:
            Source(f"async def grade(thread):\n    return float({constant!r} in thread.completion())\n")
        assert value not in str(error.value)


@pytest.mark.parametrize("value", ["password", "postgres", "12345678"])
def test_a_plain_word_of_the_environment_is_found_in_no_longer_text(value, monkeypatch):
    """It is in many harmless texts."""
    monkeypatch.setenv("DB_PASSWORD", value)
    assert refused("X", value)
    assert not refused("X", f"Does it name the {value} of the server?")
    monkeypatch.setenv("DB_PASSWORD", "Ab1-cd2-ef3")
    assert not refused("X", "xAb1-cd2-ef34")


SLACK = "https://hooks.slack.com/services/" + "T0AB1CD2E/B0AB1CD2E/a1B2c3D4e5F6g7H8i9J0k1L2"
SECRETS = [
    'login(password="hunter2")',
    "login(user='ann', password = 'correct_horse_7')",
    'headers = {"X-Api-Key": "a8f5f167f44f4964e6c998dee827110c"}',
    'headers["Authorization"] = "Basic YW5uOmh1bnRlcjI3"',
    'client(apiKey="q7w8e9r0")',
    'const clientSecret = "q7w8e9r0"',
    "DB_PASSWORD: str = b'tr0ub4dor'",
    'TOKEN = "npm_' + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8" + '"',
    f'post("{SLACK}", text)',
    'post("https://discord.com/api/webhooks/1234567890/' + 'a1B2c3D4e5F6g7H8i9J0")',
    'get("https://host/v1?api_key=' + 'a1b2c3d4e5f6g7h8")',
    "# key: sk-proj-" + "a1B2c3D4e5F6g7H8i9J0",
    "x = '-----BEGIN RSA PRIVATE KEY-----" + r"\nMIIEowIBAAKCAQEA7b'",
    'requests.get(address, auth=("bob", "' + 's3cr3tpassw0rd"))',
    'api_key = f"abcd1234efgh"',
    'api_key = """abcd1234efgh"""',
    'openai_key = "abcdefgh12345678"',
    'dbpassword = "tr0ub4dor"',
    'secret = "a8f5f167f44f4964"',
    'send("Bearer ' + 'a1b2c3d4e5f6g7h8i9j0k1l2")',
    'redis("redis://ann:tr0ub4dor@host:6379")',
]  # fmt: skip
HARMLESS = [
    'SHA = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"',
    'MD5 = "d41d8cd98f00b204e9800998ecf8427e"; ROW = "123e4567-e89b-12d3-a456-426614174000"',
    'PNG = "data:image/png;base64,' + base64.b64encode(bytes(range(256)) * 4).decode() + '"',
    'URLSAFE = "' + base64.urlsafe_b64encode(bytes(range(255, -1, -1)) * 4).decode() + '"',
    'password_hash = "5f4dcc3b5aa765d61d8327deb882cf99"',
    'PASSWORD_PATTERN = r"^(?=.*\\d)[A-Za-z]{8,}$"; password = "<password>"',
    'if password == "hunter2": score = 0.0',
    'api_key = "OPENAI_API_KEY"; key = os.environ["API_KEY"]; token = "<eos>"; secret = "{secret}"',
    'url = "https://user:password@host"; password = "********"; apiKey: "your-api-key"',
    '{"type": "object", "properties": {"password": {"type": "string"}}, "required": ["password"]}',
    "import sklearn  # sk-learn-linear-models, risk-adjusted-returns-2024, sk-ecdsa-sha2-nistp256",
    'WORDS = ["password", "secret", "token"]; token = "tokenization"; tokens = "1234"',
    'address = "https://host/page?key=value&token=next&page=12"',
    'secret_word = "banana"; SECRET = "swordfish"; secret_santa = "alice"; access_key = "final_answer"',
    'id_token = "identifier"; pad_token = "<pad>"; authorization_status = "approved"',
    r'address = re.compile(r"https?://\w+:\w+@"); begin = re.compile("-----BEGIN RSA PRIVATE KEY-----")',
    'task = "Basic Mathematics2ABC"',
]


@pytest.mark.parametrize("line", SECRETS)
@pytest.mark.parametrize("way", ["capture", "from_source", "file", "script", "agent tool", "rollout"])
def test_every_way_in_finds_it(line, way, tmp_path):
    """By shape or by the name that it is given to, as a constant or in a body, and with its line."""
    text = f"async def grade(thread):\n    # {line}\n    return 1.0\n"
    with pytest.raises(WorkbenchError, match="line 2 looks like a credential"):
        ways_in(text, tmp_path)[way]()


def ways_in(text, folder):
    path = folder / "grader.py"
    path.write_text(text)
    return {
        "capture": lambda: wb.capture(text),
        "from_source": lambda: wb.FunctionGrader.from_source(text),
        "file": lambda: wb.load(path),
        "script": lambda: wb.ScriptGrader.from_source(text),
        "agent tool": lambda: Source(text, "grade", "agent file", imported=True),
        "rollout": lambda: wb.RolloutGrader.from_source(text),
    }


@pytest.mark.parametrize("line", HARMLESS)
def test_harmless_texts(line):
    """Hashes, ids, images, patterns, schemas, placeholders, comparisons."""
    Source(f"X = 1\n# {line}\n")


@given(st.binary(min_size=20, max_size=2_000))
def test_random_bytes_are_no_credential(data):
    """As hexadecimal digits and as base64, which images are."""
    Source(f"A = '{data.hex()}'\nB = '{base64.b64encode(data).decode()}'\n")


@pytest.mark.parametrize(
    "part", ["sk-", "eyJ-", "SG.", "://a:", "password=", '"key": "', "Bearer ", "auth=("]
)
def test_repeated_beginnings_are_searched_in_linear_time(part):
    """48 kB of "sk-" took twelve seconds."""
    Source("# " + part * (48_000 // len(part)) + "\n")
