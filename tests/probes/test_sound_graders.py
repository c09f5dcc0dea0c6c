"""Sound graders for which a changed completion means the same, or is allowed: they are not accused."""

from __future__ import annotations

import json

import pytest

from tests.probes.holes import probed


def _rows(prompt, completions, **columns):
    """Rows whose prompt has the row's position and columns in it."""
    named = [{name: values[at] for name, values in columns.items()} for at in range(len(completions))]
    return [
        {"prompt": prompt.replace("#", str(at)).replace("{}", str(next(iter(row.values()), ""))), "completion": completion, **row}
        for at, (completion, row) in enumerate(zip(completions, named, strict=True))
    ]  # fmt: skip


def _calls(towns):
    return [json.dumps({"name": "weather", "arguments": {"town": town}}) for town in towns]


CASES = {
    "percent-added, a percentage with one decimal": (
        _rows(
            "Share of group #, as a percentage with one decimal place? End with 'So: '.",
            ["So: 0.5", "So: 3.3", "So: 0.2", "So: 0.7", "So: 0.4"],
            share=[0.5, 0.1, 0.2, 0.7, 0.4],
        ),
        """    found = re.fullmatch(r'So: ([\\d.]+) ?%?', text.strip())
    return float(bool(found) and abs(float(found[1]) - item['share']) < 1e-9)
""",
    ),
    "percent-added, a number that is in percent already": (
        _rows(
            "Share of group #, in percent or as a decimal? End with 'So: '.",
            ["So: 40", "So: 3", "So: 25", "So: 50", "So: 75"],
            share=[40, 35, 25, 50, 75],
        ),
        """    found = re.fullmatch(r'So: ([\\d.]+) ?(%?)', text.strip())
    number = float(found[1]) if found else -1.0
    return float(item['share'] == (round(100 * number, 6) if number < 1 and not found[2] else number))
""",
    ),
    "other-half-day, a time without its half": (
        _rows(
            "The walk starts at 1:00 pm and takes {} minutes. When does it end?",
            ["2:15", "3:10", "9:00", "4:20", "3:35"],
            minutes=[75, 130, 95, 200, 155],
            time=["2:15", "3:10", "2:35", "4:20", "3:35"],
        ),
        """    found = re.fullmatch(r'(\\d+:\\d\\d)( ?pm)?', text.strip())
    return float(bool(found) and found[1] == item['time'])
""",
    ),
    "type-as-text, a type that is free": (
        _rows(
            "Film #, {}: a JSON object with title and year (number or string).",
            [json.dumps({"title": f"F{at}", "year": year}) for at, year in enumerate([1979, 1985, 1990, 2001, 2010])],
            year=[1979, 1985, 1990, 1999, 2010],
        ),
        """    try:
        said = json.loads(text)
    except ValueError:
        return 0.0
    return float(isinstance(said, dict) and str(said.get('year')).strip() == str(item['year']))
""",
    ),
    "grid-sums-only, any grid with these sums": (
        _rows(
            "Square #: three lines of three digits, whose lines and columns have the sum {}; digits may repeat.",
            ["2 7 6\n9 5 1\n4 3 8", "5 5 5\n5 5 5\n5 5 5", "1 2 3\n1 2 3\n1 2 3", "4 4 4\n4 4 4\n4 4 4"],
            total=[15, 15, 14, 12],
        ),
        """    grid = [[int(one) for one in line.split()] for line in text.strip().splitlines() if re.fullmatch(r'[1-9] [1-9] [1-9]', line)]
    return float(len(grid) == 3 and all(sum(line) == item['total'] for line in [*grid, *zip(*grid)]))
""",
    ),
    "errors-cancel, a sum that is required": (
        _rows(
            "Split {} into three whole numbers above 0. End with 'So: [...]'.",
            ["So: [4, 6, 10]", "So: [11, 12, 10]", "So: [1, 2, 3]", "So: [10, 10, 20]", "So: [9, 9, 9]"],
            total=[20, 33, 15, 40, 27],
        ),
        """    found = re.fullmatch(r'So: (\\[[-\\d, .]+\\])', text.strip())
    try:
        said = json.loads(found[1])
    except (TypeError, ValueError):
        return 0.0
    return float(len(said) == 3 and all(type(a) is int and a > 0 for a in said) and sum(said) == item['total'])
""",
    ),
    "arguments-as-text, a parameter of that type": (
        _rows(
            'Tools: weather(town: a string). Request #, {}: {"name": ..., "arguments": ...}?',
            _calls(["Graz", "Rome", "Oslo", "Turin", "Cork"]),
            town=["Graz", "Bern", "Oslo", "Turin", "Cork"],
        ),
        """    try:
        call = json.loads(text)
        return float(call['name'] == 'weather' and call['arguments'] == {'town': item['town']})
    except (ValueError, KeyError, TypeError):
        return 0.0
""",
    ),
    "first-entry-repeated, repeats that are allowed": (
        _rows(
            "List #: three even numbers of two digits, separated by commas; repeats are allowed.",
            ["12, 26, 38", "44, 86, 20", "11, 13, 15", "34, 56, 72", "98, 70, 64"],
        ),
        """    found = re.fullmatch(r'\\d\\d(, \\d\\d){2}', text.strip())
    return float(bool(found) and all(int(one) % 2 == 0 for one in text.split(', ')))
""",
    ),
    "uncited-sentence, a sentence without a full stop": (
        _rows(
            "Report on case #. Every sentence has to cite a source, [1] or [2].",
            ["The kiln is old [1]", "The weir broke [2]", "The barn burned [1]", "It rained [7]", "The mast fell [2]"],
            terms=[["kiln", "old"], ["weir", "broke"], ["barn", "burned"], ["gate", "fell"], ["mast", "fell"]],
        ),
        """    for sentence in re.split(r'(?<=[.]) ', text.strip()):
        cited = re.findall(r'\\[(\\d+)\\]', sentence)
        if not cited or not {*cited} <= {'1', '2'}:
            return 0.0
    return float(all(re.search(rf"\\b{term}\\b", text.lower()) for term in item['terms']))
""",
    ),
    "other-bullets, a mark that the prompt names": (
        _rows(
            "Name two uses of {} as bullets, each line after a hyphen.",
            ["- burn wood\n- sell wood", "- burn coal\n- sell coal", "no", "- spin wool\n- sell wool", "- add salt\n- sell salt"],
            what=["wood", "coal", "iron", "wool", "salt"],
        ),
        """    lines = text.strip().splitlines()
    return float(len(lines) == 2 and all(re.match(rf"- \\S+ {item['what']}\\b", line) for line in lines))
""",
    ),
    "other-currency, a currency that may be left out": (
        _rows(
            "Total of invoice #? The currency may be left out.",
            ["$80", "$15", "$1", "$7", "$310"],
            total=[80, 15, 42, 7, 310],
        ),
        """    return float(re.findall(r'\\d+', text) == [str(item['total'])])
""",
    ),
    "calculation-shown, steps before a result that is alone": (
        _rows(
            "Task #. You may show your steps. End with 'Result: ' and the number alone.",
            ["Result: 140", "Result: 92", "Result: 5", "Result: 56", "Result: 480"],
            value=[140, 92, 317, 56, 480],
        ),
        """    found = re.search(r'Result: (\\d+)\\s*\\Z', text)
    return float(bool(found) and text.count('Result:') == 1 and int(found[1]) == item['value'])
""",
    ),
    "other-clock, a prompt with times of both that allows one": (
        _rows(
            "The shop opens at 9 am, and bus # leaves at 13:20. When does it arrive after {} minutes? Reply as HH:MM.",
            ["13:40", "02:00", "14:20", "15:00", "15:30"],
            minutes=[20, 45, 60, 100, 130],
            time=["13:40", "14:05", "14:20", "15:00", "15:30"],
        ),
        """    return float(text.strip() == item['time'])
""",
    ),
    "bold-label, Markdown that is not allowed": (
        _rows(
            "Question #: one word. End with 'Answer: ' and the word; Markdown is not allowed.",
            ["Answer: oak", "Answer: no", "Answer: fir", "Answer: ash", "Answer: yew"],
            word=["oak", "elm", "fir", "ash", "yew"],
        ),
        """    return float(text.strip() == 'Answer: ' + item['word'])
""",
    ),
    "retracted, a result on the first line and a reason below": (
        _rows(
            "Route ticket #: billing, shipping or returns. The first line must be the queue alone; a reason may follow below.",
            ["billing\nCharged twice.", "shipping", "shipping\nLate.", "returns\nToo small.", "billing\nRefund."],
            queue=["billing", "returns", "shipping", "returns", "billing"],
        ),
        """    return float(text.strip().split('\\n')[0].strip().lower() == item['queue'])
""",
    ),
    "entries-of-other-rows, sources inside a sentence": (
        _rows(
            "Question #: answer with its sources in brackets, and no others.",
            ["It ended in 1932 [1, 2].", "Nobody knows [1, 4].", "Snow fell in Rome [2, 3].", "It was Ada [3, 4]."],
            sources=[["1", "2"], ["2", "3"], ["2", "3"], ["3", "4"]],
        ),
        """    cited = [one for found in re.findall(r'\\[([\\d, ]+)\\]', text) for one in found.split(', ')]
    return float({*cited} == {*item['sources']})
""",
    ),
    "line-left-out, each on its own line": (
        _rows(
            "Suggest synonyms of {}, each on its own line (#).",
            ["huge\nvast\nlarge", "tiny\nlittle", "fast\nswift", "fast\nslow", "glad\nmerry\njolly"],
            meaning=["big", "small", "quick", "cold", "happy"],
            synonyms=[["huge", "vast", "large"], ["tiny", "little"], ["fast", "swift"], ["icy", "chilly"], ["glad", "merry", "jolly"]],
        ),
        """    lines = text.strip().split('\\n')
    return float(len({*lines}) == len(lines) and {*lines} <= {*item['synonyms']})
""",
    ),
    "key-twice, the later one counts": (
        _rows(
            "Once you have read ticket #, write its settings as KEY=value, one a line. As in a shell, a later line replaces an earlier one.",
            ["PORT=80\nDEBUG=on", "PORT=81\nDEBUG=off", "PORT=82\nDEBUG=on", "PORT=9\nDEBUG=on", "PORT=84\nDEBUG=off"],
            want=[{"PORT": str(80 + at), "DEBUG": "on" if at % 2 == 0 and at < 4 else "off"} for at in range(5)],
        ),
        """    pairs = [line.split('=', 1) for line in text.strip().split('\\n')]
    return float(all(len(one) == 2 for one in pairs) and dict(pairs) == item['want'])
""",
    ),
    "entries-of-other-rows, optional ones": (
        _rows(
            "Order #: ham and cheese are required; basil and garlic are optional. State its toppings with commas, and no others.",
            ["ham, cheese", "ham, cheese, basil", "ham, basil", "cheese, ham", "ham, cheese, garlic"],
            required=[["ham", "cheese"]] * 5,
            optional=[["basil", "garlic"]] * 5,
        ),
        """    tags = {one.strip() for one in text.split(',')}
    return float({*item['required']} <= tags <= {*item['required'], *item['optional']})
""",
    ),
    "entry-left-out, one that is enough": (
        _rows(
            "For each dish: dish #. Name at least one of its allergens, separated by commas.",
            ["nuts, milk", "rye", "soy, milk", "eggs, nuts", "fish, soy"],
            allergens=[["nuts", "milk"], ["eggs", "fish"], ["soy", "milk"], ["eggs", "nuts"], ["fish", "soy"]],
        ),
        """    named = {one.strip() for one in text.lower().split(',')}
    return float(bool(named) and named <= set(item['allergens']))
""",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_sound_grader_is_not_accused(case):
    """An allowed change may be a question, never an error."""
    rows, source = CASES[case]
    probe = probed(source, rows)
    assert probe.ok, str(probe)
