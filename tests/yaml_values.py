"""Values as Kubernetes has them, and texts that are hard to write."""

from __future__ import annotations

from hypothesis import strategies as st

characters = st.characters(exclude_categories=("Cs",))
tricky = st.sampled_from(
    [
        "y", "n", "yes", "no", "on", "off", "true", "null", "~",
        "08", "0777", "0o17", "0x1F", "0b1",
        "1_000", "1e3", "1E3", "1.", ".5", "+1", "-0", ".inf", ".nan", "1:30", "2024-01-02", "=",
        "<<", "-", "--", "---", "...", "?", ":", "#", "#x", "@x", "`x", "%x", "!x", "&x", "*x", "|",
        ">", "|-", "[a", "{a", "]", "}", ",", "'", '"', "a:", "a:b", "a#b", "x:", "1Gi", "500m",
        "1E", "1Ei", "0m", "10", "1.10", "NO", "12e03", "NaN", "Infinity", "-", "?", "-x", ":x",
        "x,y", "{}", "[]", "//", "/x", "=", "=1", "\\", "\\n", "$(a)", "{{a}}", "${a}", "0b",
        "0x", "0o",
        "+.5", "-.inf", "1__0", "12345678e9", "1e400", "18446744073709551616",
    ]
) | st.sampled_from(
    [
        "", " ", "  ", "a ", " a", "a: b", "a #b", "- a", "a\tb", "\ta", "a\n", "\n", "\n\n",
        "a\nb",
        "a\n\nb  \n  c\n", "  lead\nx\n", "\n\nlead", "\tx\ny", "a\n ", "a\n\n\n", "a\r\nb", "\r",
        "\x00", "\x7f", "\x85", "\u2028", "\ufeff", "\ufeffa", "a\x85b\nc", "😀", "é", "a\u00a0b",
        "# x\ny", "---\na", "a\n---\nb", "...\n", "a\n\tb\n", " \n", "a\n  \n", "\\x\n", "null x",
        "'", "''", '"q"', "x'y", "x" * 200, "a b " * 60, "key: |\n  text\n", "|\n", "a\n\x01",
    ]
)  # fmt: skip
texts = (
    tricky | st.text(characters, max_size=12) | st.text("ab \n\t:-#'\"{}[],&*!|>%@`", max_size=14)
)
integers = st.integers(-(2**63), 2**64 - 1)
# whole numbers above 2**53 come back with the digits that JSON writes, which floats do not have
floats = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: abs(number) < 2**53 or abs(number) >= 1e21
)
scalars = texts | integers | floats | st.booleans() | st.none()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
