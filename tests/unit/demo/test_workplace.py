"""The directories of a demo: gone at its end, apart from what somebody wants to look at."""

import tempfile
from pathlib import Path

import pytest

from odradek.demo.children import ChildEnded
from odradek.demo.workplace import UsedDirectory, workplace


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_nothing_is_left(temporary: Path) -> None:
    with workplace(None) as place:
        (place.logs / "jobs.log").write_text("lines", encoding="utf-8")
        (place.scratch / "file").write_text("text", encoding="utf-8")
        assert place.root.parent == temporary
    assert list(temporary.iterdir()) == []


def test_nothing_is_left_after_an_error_either(temporary: Path) -> None:
    with pytest.raises(ZeroDivisionError), workplace(None):
        raise ZeroDivisionError
    assert list(temporary.iterdir()) == []


def test_logs_are_left_where_a_child_has_ended(temporary: Path) -> None:
    def fail() -> None:
        with workplace(None) as place:
            place.data.mkdir()
            (place.logs / "jobs.log").write_text("why", encoding="utf-8")
            raise ChildEnded("ended")

    with pytest.raises(ChildEnded):
        fail()
    (root,) = temporary.iterdir()
    assert [each.name for each in root.rglob("*")] == ["logs", "jobs.log"]


def test_what_is_to_be_kept_is_kept(tmp_path: Path) -> None:
    kept = tmp_path / "deep" / "kept"
    with workplace(kept) as place:
        place.data.mkdir()
        place.checkpoints.mkdir()
    assert sorted(each.name for each in kept.iterdir()) == ["checkpoints", "data", "logs"]
    with pytest.raises(UsedDirectory, match=r"is not empty: .* odradek serve --data .*/kept/data$"), workplace(kept):
        pass
    assert sorted(each.name for each in kept.iterdir()) == ["checkpoints", "data", "logs"]
