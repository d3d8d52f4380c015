import pytest

from odradek.model.errors import InvalidConfig
from odradek.model.settings import LONG_MAX, Key, Kind

COUNT: Key[int] = Key("count", Kind.INT, 1, "A count.", least=1, most=9, besides=(-1,))
TIME: Key[int] = Key("time.ms", Kind.LONG, LONG_MAX, "A time.")
RATIO: Key[float] = Key("ratio", Kind.DOUBLE, 0.5, "A ratio.", least=0, most=1)
SWITCH: Key[bool] = Key("switch", Kind.BOOLEAN, False, "A switch.")
COLOUR: Key[str] = Key("colour", Kind.STRING, "red", "A colour.", valid=("red", "blue"))
COLOURS: Key[tuple[str, ...]] = Key("colours", Kind.LIST, (), "Colours.", valid=("red", "blue"))
NAMES: Key[tuple[str, ...]] = Key("names", Kind.LIST, (), "Names.", refuses=lambda names: "no" if "x" in names else "")

PLACES: Key[tuple[str, ...]] = Key("places", Kind.LIST, (), "Places.", distinct=True)
SHADE: Key[str] = Key("shade", Kind.STRING, "Dark", "A shade.", valid=("Dark", "Light"), any_case=True)
SMALL: Key[int] = Key("small", Kind.SHORT, 1, "A small number.")
SECRET: Key[str | None] = Key("secret", Kind.PASSWORD, None, "A secret.")


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        (COUNT, "9", 9),
        (COUNT, " +3 ", 3),
        (COUNT, "-1", -1),
        (TIME, "9223372036854775807", LONG_MAX),
        (TIME, "-9223372036854775808", -LONG_MAX - 1),
        (RATIO, "0.25", 0.25),
        (RATIO, "1", 1.0),
        (RATIO, "1e-2", 0.01),
        (SWITCH, "TRUE", True),
        (SWITCH, " false ", False),
        (COLOUR, " blue", "blue"),
        (COLOURS, "", ()),
        (COLOURS, "blue , red", ("blue", "red")),
        (COLOURS, "red,blue,red", ("red", "blue")),
        (PLACES, "b,a,b", ("b", "a")),
        (PLACES, "", ()),
        (SHADE, "DARK", "Dark"),
        (SMALL, "-32768", -32768),
        (SECRET, " s3cret ", "s3cret"),
        (NAMES, "a,,a", ("a", "", "a")),
    ],
)
def test_text_becomes_a_value(key: Key[object], text: str, value: object) -> None:
    assert key.parse(text) == value
    assert type(key.parse(text)) is type(value)


@pytest.mark.parametrize(
    ("key", "text", "complaint"),
    [
        (COUNT, "0", "Invalid value 0 for configuration count: must be at least 1"),
        (COUNT, "10", "Invalid value 10 for configuration count: must be no more than 9"),
        (COUNT, "1.5", "Invalid value 1.5 for configuration count: must be a whole number of type INT"),
        (COUNT, "", "Invalid value  for configuration count: must be a whole number of type INT"),
        (COUNT, "1_0", "Invalid value 1_0 for configuration count: must be a whole number of type INT"),
        (COUNT, "٣", "Invalid value ٣ for configuration count: must be a whole number of type INT"),
        (
            COUNT,
            "2147483648",
            "Invalid value 2147483648 for configuration count: does not fit into a number of type INT",
        ),
        (
            TIME,
            "9223372036854775808",
            "Invalid value 9223372036854775808 for configuration time.ms: does not fit into a number of type LONG",
        ),
        (
            TIME,
            "1" * 5000,
            f"Invalid value {'1' * 40} for configuration time.ms: does not fit into a number of type LONG",
        ),
        (RATIO, "1.01", "Invalid value 1.01 for configuration ratio: must be no more than 1"),
        (RATIO, "-1", "Invalid value -1 for configuration ratio: must be at least 0"),
        (RATIO, "nan", "Invalid value nan for configuration ratio: must be a number of type DOUBLE"),
        (RATIO, "inf", "Invalid value inf for configuration ratio: must be a number of type DOUBLE"),
        (SWITCH, "yes", "Invalid value yes for configuration switch: must be either true or false"),
        (COLOUR, "green", "Invalid value green for configuration colour: must be one of: red, blue"),
        (COLOUR, "Red", "Invalid value Red for configuration colour: must be one of: red, blue"),
        (COLOURS, "red,", "Invalid value red, for configuration colours: '' must be one of: red, blue"),
        (NAMES, "x", "Invalid value x for configuration names: no"),
        (PLACES, "a,,b", "Invalid value a,,b for configuration places: an entry is empty"),
        (SHADE, "grey", "Invalid value grey for configuration shade: must be one of: Dark, Light"),
        (SMALL, "32768", "Invalid value 32768 for configuration small: does not fit into a number of type SHORT"),
    ],
)
def test_a_bad_text_is_refused_by_name_and_reason(key: Key[object], text: str, complaint: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        key.parse(text)
    assert str(refused.value) == complaint


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [(COUNT, 3, "3"), (RATIO, 0.5, "0.5"), (SWITCH, True, "true"), (COLOURS, ("red", "blue"), "red,blue")],
)
def test_a_value_becomes_its_text(key: Key[object], value: object, text: str) -> None:
    assert key.format(value) == text
    assert key.parse(text) == value


def test_a_double_is_written_as_kafka_writes_it() -> None:
    assert RATIO.format(1.7976931348623157e308) == "1.7976931348623157E308"
    assert RATIO.format(1e-7) == "1E-07"


def test_only_passwords_are_sensitive() -> None:
    assert SECRET.is_sensitive
    assert not COLOUR.is_sensitive


def test_no_value_has_no_text() -> None:
    key: Key[int | None] = Key("maybe", Kind.INT, None, "Maybe.")
    assert key.format(None) is None


def test_limits_are_told_for_tables() -> None:
    assert COUNT.limits() == "1..9, -1"
    assert TIME.limits() == ""
    assert COLOUR.limits() == "red, blue"
    assert Key("least", Kind.INT, 5, "Least.", least=5).limits() == "5.."
