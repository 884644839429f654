import pytest

from evals.report.links import case_link, moved_to, window_link, windows_link


@pytest.mark.parametrize(
    ("window_id", "link"),
    [
        ("w1", "windows.html#w1"),
        ("session/7 b", "windows.html#session/7%20b"),
        ("?show=missing", "windows.html#%3Fshow%3Dmissing"),
        ("結", "windows.html#%E7%B5%90"),
        ("half \ud800", "windows.html#half%20%3F"),
    ],
)
def test_a_window_is_addressed_by_its_id_as_given(window_id: str, link: str) -> None:
    assert window_link(window_id) == link


def test_links_into_the_windows_set_one_filter() -> None:
    assert windows_link(composite="lost & <found>") == (
        "windows.html#?composite=lost+%26+%3Cfound%3E"
    )


def test_links_to_the_files_of_the_run_lead_to_another_folder_quoted_or_not() -> None:
    html = (
        f'<a href={case_link("a")}>x</a> <a href="{window_link("w")}">y</a> <a href="#cq-qa">'
        '<a href="rows.jsonl">'
    )
    assert moved_to(html, '../runs/r 1">') == (
        "<a href=../runs/r%201%22%3E/cases.html#a>x</a> "
        '<a href="../runs/r%201%22%3E/windows.html#w">y</a> <a href="#cq-qa">'
        '<a href="../runs/r%201%22%3E/rows.jsonl">'
    )


def test_text_that_looks_like_a_link_stays_as_it_is() -> None:
    text = "&lt;a href=cases.html#a&gt; href=&#34;cases.html"
    assert moved_to(text, "elsewhere") == text
    assert moved_to("<a href=cases.html>", ".") == "<a href=cases.html>"
