"""reasoning-gym: verifiers of generated tasks, each with its own generator of rows."""

from __future__ import annotations

from benchmarks.field.corpus import Function, Hole, Package

_TASKS = (
    ("algebra", "complex_arithmetic", "ComplexArithmetic"),
    ("algebra", "polynomial_equations", "PolynomialEquations"),
    ("algorithmic", "game_of_life_halting", "GameOfLifeHalting"),
    ("algorithmic", "letter_jumble", "LetterJumble"),
    ("algorithmic", "number_sorting", "NumberSorting"),
    ("algorithmic", "palindrome_partitioning", "PalindromePartitioning"),
    ("algorithmic", "pool_matrix", "PoolMatrix"),
    ("algorithmic", "spell_backward", "SpellBackward"),
    ("algorithmic", "word_ladder", "WordLadder"),
    ("algorithmic", "word_sorting", "WordSorting"),
    ("arithmetic", "calendar_arithmetic", "CalendarArithmetic"),
    ("arithmetic", "decimal_arithmetic", "DecimalArithmetic"),
    ("arithmetic", "fraction_simplification", "FractionSimplification"),
    ("arithmetic", "gcd", "GCD"),
    ("arithmetic", "prime_factorization", "PrimeFactorization"),
    ("arithmetic", "time_intervals", "TimeIntervals"),
    ("games", "countdown", "Countdown"),
    ("games", "kakurasu", "Kakurasu"),
    ("games", "survo", "Survo"),
    ("graphs", "quantum_lock", "QuantumLock"),
    ("logic", "knights_knaves", "KnightsKnaves"),
    ("algebra", "polynomial_multiplication", "PolynomialMultiplication"),
    ("algorithmic", "cryptarithm", "Cryptarithm"),
    ("algorithmic", "group_anagrams", "GroupAnagrams"),
    ("algorithmic", "jugs", "Jugs"),
    ("algorithmic", "sentence_reordering", "SentenceReordering"),
    ("algorithmic", "string_insertion", "StringInsertion"),
    ("algorithmic", "string_manipulation", "StringManipulation"),
    ("arithmetic", "bitwise_arithmetic", "BitwiseArithmetic"),
    ("arithmetic", "dice", "Dice"),
    ("arithmetic", "number_format", "NumberFormat"),
    ("games", "mini_sudoku", "MiniSudoku"),
    ("games", "n_queens", "NQueens"),
    ("games", "puzzle24", "Puzzle24"),
    ("games", "sokoban", "Sokoban"),
    ("games", "tower_of_hanoi", "Hanoi"),
    ("graphs", "shortest_path", "ShortestPath"),
    ("probability", "coin_flip", "CoinFlip"),
)

_HISTORY = ("countdown", "knights_knaves", "polynomial_equations", "quantum_lock", "word_sorting")
"""Verifiers that were repaired between the two versions."""

_HOLES = {
    "complex_arithmetic": (
        Hole(
            text="nan",
            accepted=True,
            names=r"nan|not a number",
            claim='"nan" gets 1.0 in every row: `min(1.0, nan)` is 1.0.',
            fix="reject a result that is not finite: `cmath.isfinite(student_result)`",
        ),
    ),
    "game_of_life_halting": (
        Hole(
            text="I do not know",
            accepted=True,
            names=r"any text|gibberish|without meaning|everything|free text|one text|one.for.all|other label|another row",
            claim='Any text gets 1.0: `bool()` of a text that is not empty is True, also of the reference "False".',
            fix="compare the texts: `answer.strip() == entry['answer']`",
        ),
    ),
    "time_intervals": (
        Hole(
            text="34 seconds",
            row=8,
            accepted=True,
            names=r"unit",
            claim="`34 seconds` is right for 34 days: only the number is read.",
            fix="match the whole text: `(\\d+) days?`",
        ),
    ),
    "word_sorting": (
        Hole(
            text="RESULT, zebra",
            accepted=True,
            names=r"entry|additional|twice",
            claim="Words after the sorted ones are ignored.",
            fix="require the same number of words",
        ),
    ),
    "puzzle24": (
        Hole(
            text="6 + 6 + 6 + 6",
            accepted=True,
            names=r"form, without|another row|one text|one-for-all|other-answer",
            claim="Any four numbers that make 24 are right: they are not compared with the given ones.",
            fix="compare `sorted(used_numbers)` with the given numbers",
        ),
    ),
    "coin_flip": (
        Hole(
            text="0",
            accepted=True,
            names=r"start|truncat|part|prefix|\b0\b",
            claim='"0" gets 1.0 for every probability below 1: a matching prefix is divided by the shorter length.',
            fix="divide by the longer length: `match_len / max(len(oracle), len(answer))`",
        ),
    ),
}  # fmt: skip

PACKAGE = Package(
    name="reasoning-gym",
    versions=("0.1.25", "0.1.5"),
    bare=("reasoning_gym", *(f"reasoning_gym.{folder}" for folder in sorted({task[0] for task in _TASKS}))),
    stands_in=("matplotlib", "mpl_toolkits"),
    needs=(
        "sympy==1.14.0",
        "mpmath==1.3.0",
        "cellpylib==2.4.0",
        "pytz==2025.2",
    ),
    functions=tuple(
        Function(
            name=name,
            target=f"reasoning_gym.{folder}.{name}:{prefix}Dataset",
            setup=f"generated('reasoning_gym.{folder}.{name}', '{prefix}Dataset', '{prefix}Config')",
            call="fn(text, row['index'])",
            rows="generated",
            description=name.replace("_", " "),
            holes=_HOLES.get(name, ()),
            history=name in _HISTORY,
        )
        for folder, name, prefix in _TASKS
    ),
)
