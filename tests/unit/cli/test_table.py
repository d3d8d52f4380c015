"""Tables and quantities, as people read them."""

from odradek.cli.quantities import count, size
from odradek.cli.table import table


def test_columns_are_as_wide_as_what_is_in_them() -> None:
    long = "a-topic-with-a-name-" + "x" * 200
    rows = [("orders", 6, "1 kB"), (long, 1000, None)]
    title, first, second = table(("topic", "partitions", "size"), rows, right=("partitions", "size"))
    assert title == f"{'TOPIC':<220}  PARTITIONS  SIZE"
    assert first == f"{'orders':<220}           6  1 kB"
    assert second == f"{long}        1000     -"


def test_no_rows_are_titles_alone() -> None:
    assert list(table(("a", "b"), [])) == ["A  B"]


def test_quantities() -> None:
    assert [size(number) for number in (0, 999, 1000, 1_234_567)] == ["0 B", "999 B", "1.0 kB", "1.2 MB"]
    assert size(5e12) == "5000.0 GB"
    assert [count(number, "record") for number in (0, 1, 1234)] == ["0 records", "1 record", "1,234 records"]


def test_what_others_wrote_moves_no_cursor() -> None:
    assert list(table(("client",), [("\x1b[2Jevil\n",)])) == ["CLIENT", "\\x1b[2Jevil\\x0a"]
