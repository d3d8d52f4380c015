import pytest

from odradek.model.errors import InvalidConfig
from odradek.model.properties import Property, format_property, parse


def pairs(text: str) -> list[tuple[str, str]]:
    return [(each.name, each.value) for each in parse(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a=b", [("a", "b")]),
        ("a = b", [("a", "b")]),
        ("  a:b", [("a", "b")]),
        ("a b", [("a", "b")]),
        ("a\t=\fb", [("a", "b")]),
        ("a", [("a", "")]),
        ("a=", [("a", "")]),
        ("a=b=c:d e", [("a", "b=c:d e")]),
        ("a  = = b", [("a", "= b")]),
        ("a=b ", [("a", "b ")]),
        ("# a=b\n ! c\n\n \t\nd=e", [("d", "e")]),
        ("a=#b", [("a", "#b")]),
        ("a=b\rc=d\r\ne=f", [("a", "b"), ("c", "d"), ("e", "f")]),
        ("a=b,\\\n    c,\\\r\n\td\ne=f", [("a", "b,c,d"), ("e", "f")]),
        ("a=b\\\n# no comment", [("a", "b# no comment")]),
        ("# a comment\\\nb=c", [("b", "c")]),
        ("a=b\\\n\nc=d", [("a", "b"), ("c", "d")]),
        ("a=b\\\\\nc=d", [("a", "b\\"), ("c", "d")]),
        ("a=b\\", [("a", "b")]),
        ("a\\=\\:\\ b=c", [("a=: b", "c")]),
        (r"a=C:\\kafka\logs", [("a", r"C:\kafkalogs")]),
        (r"a=\t\n\r\f\q", [("a", "\t\n\r\fq")]),
        (r"\u0061=\u00e9\u20AC", [("a", "é€")]),
        (r"a=\uD83D\uDE00", [("a", "😀")]),
        ("a=é", [("a", "é")]),
        ("a=1\na=2", [("a", "1"), ("a", "2")]),
    ],
)
def test_files_read_as_java_reads_them(text: str, expected: list[tuple[str, str]]) -> None:
    assert pairs(text) == expected


def test_a_property_knows_the_line_that_it_starts_in() -> None:
    assert list(parse("# x\n\na=b\\\n c\nd=e")) == [Property("a", "bc", 3), Property("d", "e", 5)]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a=b\nc=\\u12", r"line 2: \u12 must be \u and four hexadecimal digits"),
        ("a=\\u12g4", r"line 1: \u12g4 must be \u and four hexadecimal digits"),
        ("a=\\uD83D", r"line 1: half a character: \uD800 to \uDFFF come in pairs"),
    ],
)
def test_a_bad_escape_is_refused_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        list(parse(text))
    assert str(refused.value) == complaint


def test_a_property_is_written_so_that_it_reads_the_same() -> None:
    assert format_property("a b", " c\\d\n") == "a\\ b=\\ c\\\\d\\n"
