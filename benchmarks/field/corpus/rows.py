"""Rows of the field corpus: own prompts in the manner of the data sets that the functions are used with."""

from __future__ import annotations

from benchmarks.field.corpus import Row


def _sum(prompt: str, result: str, wrong: str) -> Row:
    return {"prompt": prompt, "reference": result, "right": [result], "wrong": [wrong]}


SUMS = (
    _sum("A hall has 9 rows of 8 chairs. How many chairs are in the hall?", "72", "17"),
    _sum("Ida reads 18 pages a day for 7 days. How many pages does she read?", "126", "25"),
    _sum("A tram carries 64 people; 19 leave and 7 enter. How many does it carry now?", "52", "45"),
    _sum("Four boxes contain 35 nails each, 8 are bent. How many are straight?", "132", "140"),
    _sum("A shop sells 1250 cards in a week and 980 in the next. How many in both?", "2230", "270"),
    _sum("Omar saves 15 euros a week. After how many weeks has he 240 euros?", "16", "225"),
    _sum(
        "A farmer fills 9 crates with 24 pears each and keeps 30 pears. How many pears are there?",
        "246",
        "216",
    ),
    _sum("A rope of 96 metres is cut into 8 equal parts. How long is a part, in metres?", "12", "88"),
    _sum("Lena has 45 stamps, gives away a third and buys 11. How many has she?", "41", "26"),
    _sum("Two numbers differ by 38 and the smaller is 57. What is the larger?", "95", "19"),
    _sum(
        "A train travels 340 kilometres in 4 hours. What is its speed in kilometres per hour?", "85", "1360"
    ),
    _sum("A cinema has 21 rows of 16 seats, 50 seats are broken. How many can be used?", "286", "336"),
)
"""Word problems with a whole number as the result, as in GSM8K."""


def _latex(prompt: str, result: str, wrong: str, *forms: str) -> Row:
    return {"prompt": prompt, "reference": result, "right": [result, *forms], "wrong": [wrong]}


LATEX = (
    _latex("Simplify $\\frac{6}{8}$.", "\\frac{3}{4}", "\\frac{4}{3}"),
    _latex("What is the probability of two heads in two tosses?", "\\frac{1}{4}", "\\frac{1}{2}"),
    _latex("Solve $x^2 = 50$ for positive $x$.", "5\\sqrt{2}", "2\\sqrt{5}"),
    _latex("Compute $3^5$.", "243", "15"),
    _latex("Factor $x^2 - 5x + 6$.", "(x-2)(x-3)", "(x+2)(x+3)"),
    _latex("Give the vertex of $y = (x-3)^2 + 4$.", "(3, 4)", "(4, 3)"),
    _latex("Expand $(a+1)^2$.", "a^2+2a+1", "a^2+1"),
    _latex("What is $\\sin 30^\\circ$?", "\\frac{1}{2}", "\\frac{\\sqrt{3}}{2}"),
    _latex("Find the area of a circle of radius 6.", "36\\pi", "12\\pi"),
    _latex("Compute $-7 \\cdot 8$.", "-56", "56"),
    _latex("What is $\\binom{7}{3}$?", "35", "21"),
    _latex("Write $0.125$ as a fraction in lowest terms.", "\\frac{1}{8}", "\\frac{8}{1}"),
    _latex("Evaluate $2^{10} + 1$.", "1025", "1023"),
    _latex("For which $x$ is $3x - 4 = 11$?", "5", "3"),
)
"""Results in LaTeX, as in MATH."""


def _fact(prompt: str, golds: list[str], wrong: str) -> Row:
    return {"prompt": prompt, "reference": golds[0], "targets": golds, "right": golds[:1], "wrong": [wrong]}


FACTS = (
    _fact("Which river flows through Prague?", ["Vltava", "the Vltava"], "Elbe"),
    _fact("Who painted The Night Watch?", ["Rembrandt", "Rembrandt van Rijn"], "Vermeer"),
    _fact("What is the capital of Australia?", ["Canberra"], "Sydney"),
    _fact("Which vitamin is also called retinol?", ["A", "vitamin A"], "C"),
    _fact("In which year did the Titanic sink?", ["1912"], "1915"),
    _fact("Which element has the symbol Na?", ["sodium"], "nitrogen"),
    _fact("Who wrote Faust?", ["Johann Wolfgang von Goethe", "Goethe"], "Friedrich Schiller"),
    _fact("What is the highest mountain of Japan?", ["Mount Fuji", "Fuji"], "Mount Aso"),
    _fact("Which country has the most islands?", ["Sweden"], "Norway"),
    _fact("Who composed The Four Seasons?", ["Antonio Vivaldi", "Vivaldi"], "Joseph Haydn"),
    _fact("How many strings has a violin?", ["four", "4"], "six"),
    _fact("Which city hosted the Olympic Games of 1936?", ["Berlin"], "Munich"),
    _fact("Which band recorded Abbey Road?", ["The Beatles", "Beatles"], "The Who"),
    _fact("In which ocean are the Maldives?", ["Indian Ocean", "the Indian Ocean"], "Pacific Ocean"),
)
"""Short facts with accepted aliases, as in Natural Questions; one gold is the letter A."""


def _choice(prompt: str, options: list[str], letter: str, wrong: str) -> Row:
    listed = "\n".join(f"({name}) {option}" for name, option in zip("ABCD", options, strict=True))
    return {
        "prompt": f"{prompt}\n{listed}",
        "reference": letter,
        "options": options,
        "right": [letter],
        "wrong": [wrong],
    }


LETTERS = (
    _choice("Which planet is the largest?", ["Mars", "Jupiter", "Venus", "Earth"], "B", "A"),
    _choice("Which gas do plants take in?", ["oxygen", "helium", "neon", "carbon dioxide"], "D", "A"),
    _choice("Which of these is a prime?", ["21", "33", "37", "51"], "C", "D"),
    _choice("What is the unit of force?", ["newton", "joule", "watt", "pascal"], "A", "B"),
    _choice("Which word is a verb?", ["table", "quickly", "green", "run"], "D", "C"),
    _choice("Which is the longest river?", ["Rhine", "Danube", "Volga", "Loire"], "C", "B"),
    _choice("What is 15 % of 80?", ["8", "12", "15", "20"], "B", "C"),
    _choice("Which metal is liquid at room temperature?", ["mercury", "iron", "zinc", "tin"], "A", "C"),
    _choice("Which organ pumps blood?", ["liver", "lung", "heart", "kidney"], "C", "A"),
    _choice("How many sides has a hexagon?", ["five", "six", "seven", "eight"], "B", "D"),
    _choice("Which is not a mammal?", ["whale", "bat", "dog", "shark"], "D", "A"),
    _choice("Which number is even?", ["18", "27", "35", "49"], "A", "B"),
)
"""Multiple choice with four options, as in MMLU."""


def _list(prompt: str, result: str, wrong: str) -> Row:
    return {"prompt": prompt, "reference": result, "right": [result], "wrong": [wrong]}


LISTS = (
    _list("List the positive divisors of 12.", "1, 2, 3, 4, 6, 12", "1, 2, 3, 6"),
    _list("List the primes below 20.", "2, 3, 5, 7, 11, 13, 17, 19", "1, 2, 3, 5, 7, 11"),
    _list("Solve x^2 - 5x + 6 = 0.", "2, 3", "-2, -3"),
    _list("Give the squares of 1 to 5.", "1, 4, 9, 16, 25", "1, 4, 8, 16, 25"),
    _list("Solve x^2 = 49.", "-7, 7", "7"),
    _list("List the multiples of 8 from 8 to 40.", "8, 16, 24, 32, 40", "8, 16, 24, 32"),
    _list("Give the prime factors of 60 with their multiplicity.", "2, 2, 3, 5", "2, 3, 5"),
    _list("List the two-digit squares.", "16, 25, 36, 49, 64, 81", "16, 25, 36, 49"),
    _list("Give the first five Fibonacci numbers from 1.", "1, 1, 2, 3, 5", "1, 2, 3, 5, 8"),
    _list("Solve |x - 4| = 9.", "-5, 13", "13"),
    _list("List the divisors of 25.", "1, 5, 25", "5, 25"),
    _list("Give the three smallest odd numbers above 10.", "11, 13, 15", "11, 12, 13"),
)
"""Lists of numbers as the result; two contain a number twice."""


def _tool(prompt: str, name: str, right: str, wrong: str) -> Row:
    call, other = (f'{{"name": "{name}", "arguments": {arguments}}}' for arguments in (right, wrong))
    return {"prompt": prompt, "reference": call, "right": [call], "wrong": [other]}


TOOLS = (
    _tool(
        "Weather in Oslo tomorrow?",
        "get_weather",
        '{"city": "Oslo", "day": 1}',
        '{"city": "Bergen", "day": 1}',
    ),
    _tool(
        "Weather in Lima today?", "get_weather", '{"city": "Lima", "day": 0}', '{"city": "Lima", "day": 1}'
    ),
    _tool(
        "Book a table for 4 at 19:00.",
        "book_table",
        '{"people": 4, "time": "19:00"}',
        '{"people": 2, "time": "19:00"}',
    ),
    _tool(
        "Book a table for 2 at 12:30.",
        "book_table",
        '{"people": 2, "time": "12:30"}',
        '{"people": 2, "time": "13:30"}',
    ),
    _tool(
        "Send Ada the text 'on my way'.",
        "send",
        '{"to": "Ada", "text": "on my way"}',
        '{"to": "Ida", "text": "on my way"}',
    ),
    _tool(
        "Send Max the text 'thanks'.",
        "send",
        '{"to": "Max", "text": "thanks"}',
        '{"to": "Max", "text": "no"}',
    ),
    _tool(
        "Convert 5 miles to km.",
        "convert",
        '{"value": 5, "from": "mi", "to": "km"}',
        '{"value": 5, "from": "km", "to": "mi"}',
    ),
    _tool(
        "Convert 20 C to F.",
        "convert",
        '{"value": 20, "from": "C", "to": "F"}',
        '{"value": 2, "from": "C", "to": "F"}',
    ),
    _tool("Play the album Blue by Joni Mitchell.", "play", '{"album": "Blue"}', '{"album": "Red"}'),
    _tool("Play the album Kind of Blue.", "play", '{"album": "Kind of Blue"}', '{"album": "Blue"}'),
    _tool(
        "Turn off the light in the kitchen.",
        "light",
        '{"room": "kitchen", "on": false}',
        '{"room": "kitchen", "on": true}',
    ),
    _tool(
        "Turn on the light in the hall.",
        "light",
        '{"room": "hall", "on": true}',
        '{"room": "bath", "on": true}',
    ),
)
"""One tool call as JSON, as in data sets for function calling."""


def _record(prompt: str, right: str, wrong: str, schema: dict[str, str]) -> Row:
    properties = {name: {"type": kind} for name, kind in schema.items()}
    return {
        "prompt": f"{prompt} Return JSON with {', '.join(schema)}.",
        "reference": right,
        "schema": {"type": "object", "properties": properties, "required": list(schema)},
        "right": [right],
        "wrong": [wrong],
    }


_PERSON, _BOOK = (
    {"name": "string", "age": "integer"},
    {"title": "string", "year": "integer", "pages": "integer"},
)

RECORDS = (
    _record("Ada is 36.", '{"name": "Ada", "age": 36}', '{"name": "Ada"}', _PERSON),
    _record("Bo is 51.", '{"name": "Bo", "age": 51}', '{"age": 51}', _PERSON),
    _record("Cleo is 9.", '{"name": "Cleo", "age": 9}', '{"person": "Cleo"}', _PERSON),
    _record("Dev is 77.", '{"name": "Dev", "age": 77}', '["Dev", 77]', _PERSON),
    _record("Eve is 20.", '{"name": "Eve", "age": 20}', '{"name": "Eve", "age": "20"}', _PERSON),
    _record("Finn is 3.", '{"name": "Finn", "age": 3}', '{"name": 3, "age": "Finn"}', _PERSON),
    _record(
        "Emma, 1815, 474 pages.", '{"title": "Emma", "year": 1815, "pages": 474}', '{"title": "Emma"}', _BOOK
    ),
    _record(
        "Dune, 1965, 412 pages.",
        '{"title": "Dune", "year": 1965, "pages": 412}',
        '{"title": "Dune", "year": 1965}',
        _BOOK,
    ),
    _record(
        "Ulysses, 1922, 730 pages.",
        '{"title": "Ulysses", "year": 1922, "pages": 730}',
        '{"year": 1922}',
        _BOOK,
    ),
    _record(
        "Momo, 1973, 224 pages.", '{"title": "Momo", "year": 1973, "pages": 224}', '{"pages": 224}', _BOOK
    ),
)
"""Records as JSON after a schema."""


def _verdict(prompt: str, letter: str, wrong: str) -> Row:
    return {"prompt": prompt, "reference": letter, "right": [letter], "wrong": [wrong]}


VERDICTS = tuple(
    _verdict(
        f"Grade the reply to: {row['prompt']} Reply A (correct), B (incorrect) or C (not attempted).",
        letter,
        wrong,
    )
    for row, (letter, wrong) in zip(
        SUMS, ("AB", "BA", "CA", "AB", "AC", "BC", "CB", "AB", "BA", "BA", "CA", "AC"), strict=True
    )
)
"""Letters with which a judge ends its reply."""


def _printed(prompt: str, lines: str, wrong: str) -> Row:
    return {"prompt": prompt, "reference": lines, "right": [lines], "wrong": [wrong]}


OUTPUTS = (
    _printed("Print the numbers 1 to 3, one a line.", "1\n2\n3", "1\n2"),
    _printed("Print the words in order: pear, apple, fig.", "apple\nfig\npear", "pear\napple\nfig"),
    _printed("Print the sum and the product of 4 and 5.", "9 20", "20 9"),
    _printed("Print a triangle of stars with 3 rows.", "*\n**\n***", "***\n**\n*"),
    _printed("Print one third with 4 decimals.", "0.3333", "0.3"),
    _printed("Print the square root of 2 with 3 decimals.", "1.414", "1.4"),
    _printed("Print YES if 17 is prime, else NO.", "YES", "NO"),
    _printed("Print YES if 21 is prime, else NO.", "NO", "YES"),
    _printed("Print the hash table sizes: 8 16 32.", "8 16 32", "8 16"),
    _printed("Print hello, then world, on two lines.", "hello\nworld", "hello world!"),
    _printed("Print the tiny probability 0.0004.", "0.0004", "0.4"),
    _printed("Print 2 to the power of 20.", "1048576", "1048575"),
)
"""Printed output of programs."""
