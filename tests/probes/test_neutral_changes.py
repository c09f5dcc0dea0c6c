"""Small changes of accepted completions that leave their meaning unchanged: a hole with its finding, and the same grader repaired."""

from __future__ import annotations

import json

import pytest

from tests.probes.holes import check_hole


def _helped():
    return [
        {"prompt": f"A harmless question, number {at}: what do I need? End with 'Take:' and one word.", "completion": f"Take: {word}" if at != 2 else "I cannot help with that.", "word": word}
        for at, word in enumerate(["cloth", "string", "fan", "chalk", "wire", "bucket"])
    ]  # fmt: skip


def _objects():
    towns = ["Graz", "Bern", "Oslo", "Turin", "Cork"]
    return [
        {"prompt": f"Name the town of note {at} as JSON. Further keys are fine.", "completion": json.dumps({"town": town if at != 3 else "Rome"}), "town": town}
        for at, town in enumerate(towns)
    ]  # fmt: skip


def _options():
    return [
        {"prompt": f"Question {at}: choose A, B, C or D. End with 'So: ' and the letter; you may say why.", "completion": f"So: {letter if at != 1 else 'A'}", "option": letter}
        for at, letter in enumerate("BDCBDA")
    ]  # fmt: skip


def _calls():
    wanted = [("stop", None), ("start", None), ("turn", {"by": 9}), ("stop", None), ("wait", {"for": 2})]
    rows = []
    for at, (name, arguments) in enumerate(wanted):
        call = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
        rows.append(
            {
                "prompt": f'Step {at}. Reply with {{"name": ..., "arguments": {{...}}}}.',
                "completion": json.dumps(call if at != 3 else {"name": "run"}),
                "call": name,
                "arguments": arguments,
            }
        )
    return rows


def _times():
    times = [("12:20", 12, 20), ("14:05", 14, 5), ("9:30", 9, 30), ("16:45", 16, 45), ("8:00", 8, 1)]
    return [
        {"prompt": f"When does train {at} leave? Write it as 15:10 or as 3:10 pm.", "completion": f"At {said}", "hour": hour, "minute": minute}
        for at, (said, hour, minute) in enumerate(times)
    ]  # fmt: skip


def _sums():
    return [
        {"prompt": f"Task {at}. End with 'Result:' and the number. You may show the last sum there, the result after the last equals sign.", "completion": f"Result: {value if at != 2 else 5}", "value": value}
        for at, value in enumerate([140, 92, 317, 56, 480])
    ]  # fmt: skip


def _forbidden():
    said = [
        "Each dog barks at times.",
        "An owl hunts mice at night.",
        "Snow is white.",
        "An elk is a large deer.",
        "A bee makes the best honey.",
    ]
    keys, banned = (
        [["dog", "barks"], ["owl", "night"], ["snow", "winter"], ["elk", "large"], ["bee", "honey"]],
        [["fur"], ["wing"], ["white"], ["antler"], ["sting"]],
    )
    return [
        {"prompt": f"Describe animal {at}. Thinking between <think> and </think> is not judged.", "completion": text, "keys": key, "banned": words}
        for at, (text, key, words) in enumerate(zip(said, keys, banned, strict=True))
    ]  # fmt: skip


def _cities():
    names = [
        "New York, NYC, Big Apple",
        "Saigon, Ho Chi Minh City",
        "Bombay, Mumbai",
        "Peking, Beijing",
        "Derry, Londonderry",
    ]
    said = ["New York", "Saigon", "Bombay", "Rome", "Derry"]
    return [
        {"prompt": f"Name city {at}; any usual name will do.", "completion": text, "names": several}
        for at, (text, several) in enumerate(zip(said, names, strict=True))
    ]


def _instants():
    instants = [
        "2024-03-15T09:30:00+00:00",
        "2023-07-02T18:00:00+00:00",
        "2022-11-20T07:15:00+00:00",
        "2021-01-05T23:45:00+00:00",
    ]
    return [
        {"prompt": f"When does call {at} start? Reply in ISO 8601; any offset will do.", "completion": instant if at != 2 else "2020-01-01T00:00:00+00:00", "start": instant}
        for at, instant in enumerate(instants)
    ]  # fmt: skip


def _boxes():
    return [
        {
            "prompt": f"Question {at}: put the letter in \\boxed{{}}.",
            "completion": f"\\boxed{{{letter if at != 2 else 'A'}}}",
            "option": letter,
        }
        for at, letter in enumerate("BDCAD")
    ]


def _feasts():
    dates = [
        ("5 March 2024", "2024-03-05"),
        ("1 May 2023", "2023-05-01"),
        ("22 June 2021", "2021-06-22"),
        ("3 July 2020", "2019-07-03"),
        ("11 April 2022", "2022-04-11"),
    ]
    return [
        {"prompt": f"When is feast {at}? Any usual way to write a date will do.", "completion": said, "date": date}
        for at, (said, date) in enumerate(dates)
    ]  # fmt: skip


def _tools():
    return [
        {"prompt": f'Call {at}: {{"name": ..., "arguments": ...}}; the arguments are an object or a string with one.', "completion": json.dumps({"name": "wait", "arguments": {"for": value if at != 1 else 99}}), "value": value}
        for at, value in enumerate([3, 8, 12, 20, 45])
    ]  # fmt: skip


def _printed():
    return [
        {"prompt": f"Print number {value} and the next one, one a line. Blanks at the ends of lines do not matter.", "completion": f"print({value if at != 2 else 0})\nprint({value + 1})", "output": f"{value}\n{value + 1}\n"}
        for at, value in enumerate([3, 8, 12, 20, 45])
    ]  # fmt: skip


def _quotients():
    return [
        {"prompt": f"Quotient {at}? End with one line 'So: ' and a decimal number.", "completion": f"So: {value if at != 2 else 9.5}", "value": value}
        for at, value in enumerate(["2.5", "0.75", "3.2", "1.25", "6.4"])
    ]  # fmt: skip


def _functions():
    bodies = ["x + 1", "x * 2", "x - 3", "x * x", "-x"]
    return [
        {"prompt": f"Write f(x) number {at}: {body}, in a code block; an example in a second block may follow.", "completion": f"```python\ndef f(x):\n    return {body if at != 1 else 'x'}\n```", "want": [eval(body, {"x": x}) for x in (3, 8)]}
        for at, body in enumerate(bodies)
    ]  # fmt: skip


CASES = {
    "zero-after-decimals": (
        _quotients,
        """    found = re.fullmatch(r'So: (-?\\d+(?:\\.\\d+)?)', text.strip())
    return float(bool(found) and found[1] == item['value'])
""",
        ("found[1] == item['value']", "float(found[1]) == float(item['value'])"),
    ),
    "example-in-a-block": (
        _functions,
        """    found = re.search(r'```(?:python)?\\n(.*)```', text, re.S)
    scope = {}
    try:
        exec(found[1] if found else '', scope)
        return float([scope['f'](x) for x in (3, 8)] == item['want'])
    except Exception:
        return 0.0
""",
        ("(.*)```", "(.*?)```"),
    ),
    "ordinal-day": (
        _feasts,
        """    from datetime import datetime
    try:
        return float(datetime.strptime(text.strip(), '%d %B %Y').strftime('%Y-%m-%d') == item['date'])
    except ValueError:
        return 0.0
""",
        ("text.strip()", "re.sub(r'(?<=\\d)(st|nd|rd|th)', '', text.strip())"),
    ),
    "arguments-as-text": (
        _tools,
        """    try:
        call = json.loads(text)
        arguments = call['arguments']
        return float(call['name'] == 'wait' and arguments == {'for': item['value']})
    except (ValueError, KeyError, TypeError):
        return 0.0
""",
        ("arguments = call['arguments']", "arguments = json.loads(call['arguments']) if isinstance(call['arguments'], str) else call['arguments']"),
    ),
    "blanks-at-line-ends": (
        _printed,
        """    import contextlib, io
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(text, {})
    except Exception:
        return 0.0
    return float(out.getvalue() == item['output'])
""",
        ("out.getvalue() == item['output']", "out.getvalue().replace(' \\n', '\\n') == item['output']"),
    ),
    "sympathy": (
        _helped,
        """    if re.match(r"(?i)(i'm )?sorry|i cannot", text):
        return 0.0
    found = re.fullmatch(r'Take: (\\w+)\\.?', text.strip().splitlines()[-1] if text.strip() else '')
    return float(bool(found) and text.count('Take:') == 1 and found[1] == item['word'])
""",
        ("(?i)(i'm )?sorry|i cannot", "(?i)(i'm sorry, )?(but )?i cannot help"),
    ),
    "nested-key": (
        _objects,
        """    found = re.search(r'\\{.*?\\}', text, re.S)
    try:
        return float(json.loads(found[0]).get('town') == item['town'])
    except (TypeError, ValueError, AttributeError):
        return 0.0
""",
        ("\\{.*?\\}", "\\{.*\\}"),
    ),
    "before-an-article": (
        _options,
        """    found = re.findall(r'(?i)\\b([a-d])\\b', text)
    return float(bool(found) and found[-1].upper() == item['option'])
""",
        ("(?i)\\b([a-d])\\b", "So: ([A-D])\\b"),
    ),
    "empty-arguments": (
        _calls,
        """    try:
        call = json.loads(text)
    except ValueError:
        return 0.0
    return float(call.get('name') == item['call'] and call.get('arguments') == item['arguments'])
""",
        ("call.get('arguments') == item['arguments']", "(call.get('arguments') or {}) == (item['arguments'] or {})"),
    ),
    "other-clock": (
        _times,
        """    found = re.findall(r'(\\d+):(\\d\\d) ?([ap]m)?', text)
    if len(found) != 1:
        return 0.0
    hour = int(found[0][0]) + 12 * (found[0][2] == 'pm')
    return float((hour, int(found[0][1])) == (item['hour'], item['minute']))
""",
        ("hour = int(found[0][0]) + 12 *", "hour = int(found[0][0]) % (12 if found[0][2] else 24) + 12 *"),
    ),
    "calculation-shown": (
        _sums,
        """    found = re.findall(r'Result:(.*)', text.replace(chr(0x2212), '-'))
    numbers = re.findall(r'-?\\d+', found[0]) if len(found) == 1 else []
    return float(len(numbers) == 1 and int(numbers[0]) == item['value'])
""",
        ("re.findall(r'-?\\d+', found[0])", "re.findall(r'-?\\d+', found[0].split('=')[-1])"),
    ),
    "forbidden-in-thought": (
        _forbidden,
        """    own = text.rpartition('</think>')[2]
    if any(word in text.lower() for word in item['banned']):
        return 0.0
    return float(all(re.search(rf"\\b{key}\\b", own.lower()) for key in item['keys']))
""",
        ("word in text.lower()", "word in own.lower()"),
    ),
    "other-alias": (
        _cities,
        """    names = [one for one in item['names'].lower().split(',')]
    return float(text.strip().lower() in names)
""",
        ("[one for one", "[one.strip() for one"),
    ),
    "other-offset": (
        _instants,
        """    from datetime import datetime
    try:
        said = datetime.fromisoformat(text.strip())
    except ValueError:
        return 0.0
    return float(said.isoformat() == item['start'])
""",
        ("said.isoformat() == item['start']", "said.tzinfo is not None and said == datetime.fromisoformat(item['start'])"),
    ),
    "text-in-box": (
        _boxes,
        """    found = re.findall(r'\\\\boxed\\{([A-D])\\}', text)
    return float(found == [item['option']])
""",
        ("boxed\\{([A-D])\\}", "boxed\\{(?:\\\\text\\{)?([A-D])\\}"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_a_hole_is_named_and_its_repair_is_not_accused(kind):
    """With its text, and without an error on the repaired grader."""
    rows, source, (old, new) = CASES[kind]
    check_hole(kind, rows(), source, old, new)
