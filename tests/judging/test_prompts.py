"""Prompt files: read as they are, filled exactly, hashed as a whole."""

from pathlib import Path

import pytest

from evals.errors import PromptError
from evals.judging.prompts import PROMPTS_DIR, load_prompt


def write(folder: Path, system: str = "Judge.", user: str = "<c>\n$conclusion\n</c>") -> Path:
    (folder / "bench").mkdir(exist_ok=True)
    (folder / "bench" / "one.system.md").write_text(system, encoding="utf-8")
    (folder / "bench" / "one.user.md").write_text(user, encoding="utf-8")
    return folder


def test_both_parts_are_read_and_trimmed(tmp_path: Path) -> None:
    prompt = load_prompt("bench/one", write(tmp_path, "\nJudge: ünï.\n\n", "\n$conclusion\n"))
    assert prompt.name == "bench/one"
    assert (prompt.system, prompt.user_template) == ("Judge: ünï.", "$conclusion")


def test_placeholders_are_filled(tmp_path: Path) -> None:
    prompt = load_prompt("bench/one", write(tmp_path, user="$peer_id: ${conclusion}!"))
    assert prompt.render({"peer_id": "may", "conclusion": '"rows"'}) == 'may: "rows"!'


@pytest.mark.parametrize("value", ["$peer_id", "$$", "${x}", "$1", "\\1", "%s {0}"])
def test_a_value_is_never_filled_itself(tmp_path: Path, value: str) -> None:
    prompt = load_prompt("bench/one", write(tmp_path, user="$conclusion / $peer_id"))
    assert prompt.render({"conclusion": value, "peer_id": "may"}) == f"{value} / may"


def test_two_dollars_are_a_plain_one(tmp_path: Path) -> None:
    prompt = load_prompt("bench/one", write(tmp_path, user="It costs $$5: $conclusion"))
    assert prompt.render({"conclusion": "x"}) == "It costs $5: x"


def test_the_system_text_is_not_a_template(tmp_path: Path) -> None:
    prompt = load_prompt("bench/one", write(tmp_path, system="Costs $5 and $conclusion"))
    assert prompt.system == "Costs $5 and $conclusion"


@pytest.mark.parametrize(
    ("user", "values"),
    [
        ("$conclusion", {}),
        ("$conclusion", {"conclusion": "x", "window": "leak"}),
        ("$conclusion", {"Conclusion": "x"}),
        ("no placeholder", {"conclusion": "x"}),
        ("$conclusion costs $5", {"conclusion": "x"}),
        ("$conclusion ${", {"conclusion": "x"}),
        ("$conclusion ends in $", {"conclusion": "x"}),
    ],
)
def test_a_template_and_values_that_do_not_fit_are_refused(
    tmp_path: Path, user: str, values: dict[str, str]
) -> None:
    prompt = load_prompt("bench/one", write(tmp_path, user=user))
    with pytest.raises(PromptError, match=r"bench/one\.user\.md") as caught:
        prompt.render(values)
    assert "$$" in caught.value.todo


@pytest.mark.parametrize("part", ["system", "user"])
def test_a_missing_file_is_named(tmp_path: Path, part: str) -> None:
    path = write(tmp_path) / "bench" / f"one.{part}.md"
    path.unlink()
    with pytest.raises(PromptError) as caught:
        load_prompt("bench/one", tmp_path)
    assert caught.value.where == str(path)


def test_a_file_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    path = write(tmp_path) / "bench" / "one.user.md"
    path.write_bytes(b"$conclusion \xff")
    with pytest.raises(PromptError, match="UTF-8") as caught:
        load_prompt("bench/one", tmp_path)
    assert caught.value.where == str(path)


def test_the_hash_changes_with_each_part_and_with_the_cut_between_them(tmp_path: Path) -> None:
    versions = [
        ("Judge.", "$conclusion"),
        ("Judge!", "$conclusion"),
        ("Judge.", "$conclusion."),
        ("Judge.$conclusion", ""),
        ("", "Judge.$conclusion"),
    ]
    hashes = [
        load_prompt("bench/one", write(tmp_path, system, user)).prompt_hash
        for system, user in versions
    ]
    assert len(set(hashes)) == len(versions)
    assert all(len(text) == 64 and int(text, 16) >= 0 for text in hashes)


def test_the_hash_does_not_change_with_the_folder_or_a_last_line_break(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    first = load_prompt("bench/one", write(one, "Judge.\n"))
    assert first.prompt_hash == load_prompt("bench/one", write(other, "Judge.")).prompt_hash


@pytest.mark.parametrize("path", sorted(PROMPTS_DIR.rglob("*.user.md")), ids=lambda p: p.name)
def test_every_shipped_template_can_be_filled(path: Path) -> None:
    name = path.relative_to(PROMPTS_DIR).as_posix().removesuffix(".user.md")
    prompt = load_prompt(name)
    assert prompt.system
    with pytest.raises(PromptError, match="placeholders") as caught:
        prompt.render({"no such placeholder": ""})
    assert caught.value.wanted != "its placeholders []"
