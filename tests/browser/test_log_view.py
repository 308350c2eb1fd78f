"""The log view by itself: follow, search, filters, the pinned error, counts, keyboard, inert text, 5,000 lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.front import open_log
from tests.browser.lab import new_page


@pytest.fixture(scope="module")
def shared(chromium: Any) -> Iterator[Any]:
    page = new_page(chromium)
    yield page
    page.context.close()


@pytest.fixture
def page(shared: Any) -> Any:
    open_log(shared)
    return shared


def rows(first: int, last: int, text: str = "line") -> list[list[Any]]:
    return [[n, "I", None, f"{text} {n}"] for n in range(first, last + 1)]


def feed(page: Any, lines: list[list[Any]], total: int = 0) -> None:
    page.evaluate("([rows, total]) => feed(rows, total)", [lines, total])


def shown(page: Any) -> list[str]:
    return page.evaluate("[...view.lines].filter(line => !line.hidden).map(line => line.textContent)")


def at_end(page: Any) -> bool:
    return page.evaluate("view.box.scrollHeight - view.box.scrollTop - view.box.clientHeight < 4")


def test_lines_are_counted_and_what_is_left_out_is_said(page: Any) -> None:
    assert page.get_by_text("No output yet.").is_visible()
    feed(page, rows(1, 100))
    assert page.get_by_text("100 lines", exact=True).is_visible()
    assert not page.get_by_text("No output yet.").is_visible()
    feed(page, rows(901, 1000))
    assert page.get_by_text("… 800 lines not shown …").count() == 1
    assert page.get_by_text("800 of 1,000 lines not shown, whole log: /jobs/output.log").is_visible()


def test_messages_that_overlap_show_each_line_once(page: Any) -> None:
    feed(page, rows(1, 10))
    feed(page, rows(5, 15))
    feed(page, rows(1, 15))
    assert shown(page) == [f"line {n}" for n in range(1, 16)]


def test_the_ring_keeps_five_thousand_lines_and_the_count_stays_exact(page: Any) -> None:
    for start in range(1, 7001, 200):
        feed(page, rows(start, start + 199))
    assert shown(page) == [f"line {n}" for n in range(2001, 7001)]
    assert page.get_by_text("2,000 of 7,000 lines not shown").is_visible()
    feed(page, rows(999_831, 1_000_000), 1_000_000)
    lines = len(shown(page))  # a gap is a row, too
    assert 4990 <= lines < 5000
    assert page.get_by_text(f"{1_000_000 - lines:,} of 1,000,000 lines not shown").is_visible()


def test_one_line_of_several_rows_counts_once(page: Any) -> None:
    feed(page, [[1, "", None, "a"], [1, "", None, "b"], [2, "", None, "c"]], 2)
    assert page.get_by_text("2 lines", exact=True).is_visible()


def test_it_follows_the_end_until_one_scrolls_up(page: Any) -> None:
    feed(page, rows(1, 300))
    assert at_end(page)
    page.mouse.move(*centre(page))
    page.mouse.wheel(0, -600)
    page.wait_for_function("!view.following")
    before = page.evaluate("view.box.scrollTop")
    feed(page, rows(301, 400))
    assert page.evaluate("view.box.scrollTop") == before
    page.get_by_role("button", name="Follow the end").click()
    assert at_end(page)
    feed(page, rows(401, 500))
    assert at_end(page)
    assert not page.get_by_role("button", name="Follow the end").is_visible()


def centre(page: Any) -> tuple[float, float]:
    box = page.locator(".amnb-lines").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_search_counts_marks_and_steps(page: Any) -> None:
    feed(page, rows(1, 50))
    search = page.get_by_label("Search the log")
    search.fill("LINE 4")
    assert page.locator(".amnb-finds").inner_text() == "11 found"
    search.press("Enter")
    assert page.locator(".amnb-current").inner_text() == "line 49"
    search.press("Shift+Enter")
    assert page.locator(".amnb-current").inner_text() == "line 48"
    page.get_by_label("Next find").click()
    assert page.locator(".amnb-finds").inner_text() == "11 of 11"
    assert page.evaluate("CSS.highlights.get('amnb-find').size") == 11
    feed(page, [*rows(51, 51), [52, "", None, "line 4 again"]])
    assert page.locator(".amnb-finds").inner_text() == "11 of 12"
    search.fill("nowhere")
    assert page.locator(".amnb-finds").inner_text() == "not found"
    search.press("Escape")
    assert search.input_value() == ""
    assert page.evaluate("CSS.highlights.get('amnb-find').size") == 0


def test_search_finds_words_across_colours(page: Any) -> None:
    feed(page, [[1, "", None, [["red", "red", "b"], [" and plain", None, ""]]]], 1)
    page.get_by_label("Search the log").fill("red and")
    assert page.locator(".amnb-finds").inner_text() == "1 found"
    assert page.locator(".amnb-line .amnb-red.amnb-b").inner_text() == "red"


def test_filters_by_level_and_rank_hold_for_what_comes_later(page: Any) -> None:
    feed(page, [[1, "I", 0, "info 0"], [2, "W", 1, "warning 1"], [3, "E", 0, "error 0"], [4, "", None, "plain"]], 4)
    page.get_by_label("Level").select_option("2")
    assert shown(page) == ["warning 1", "error 0"]
    feed(page, [[5, "I", 0, "info"], [6, "E", 1, "error 1"]], 6)
    assert shown(page) == ["warning 1", "error 0", "error 1"]
    page.get_by_label("Rank").select_option("1")
    assert shown(page) == ["warning 1", "error 1"]
    page.get_by_label("Level").select_option("0")
    page.get_by_label("Rank").select_option("")
    assert len(shown(page)) == 6


def test_ranks_are_offered_only_where_there_are_any(page: Any) -> None:
    feed(page, rows(1, 3))
    assert not page.get_by_label("Rank").is_visible()
    feed(page, [[4, "", 3, "x"], [5, "", 0, "y"]], 5)
    assert page.get_by_label("Rank").locator("option").all_inner_texts() == ["All ranks", "Rank 0", "Rank 3"]


def test_the_first_error_is_pinned_and_leads_to_its_line(page: Any) -> None:
    feed(page, rows(1, 400))
    page.evaluate("view.pinned([120, 'ValueError: no', 1], true)")
    pin = page.locator(".amnb-pin")
    assert "line 120, rank 1" in pin.inner_text()
    assert "ValueError: no" in pin.inner_text()
    page.get_by_label("Level").select_option("3")  # hides it
    page.get_by_role("button", name="Show in the log").click()
    assert page.locator(".amnb-current").inner_text() == "line 120"
    assert page.locator(".amnb-current").is_visible()
    page.evaluate("view.pinned([9999, 'x', null], true)")
    page.get_by_role("button", name="Show in the log").click()
    assert page.get_by_role("button", name="No longer among the lines shown").is_visible()
    page.evaluate("view.pinned(null, true)")
    assert not pin.is_visible()


def test_copy_takes_the_lines_that_are_shown(page: Any) -> None:
    feed(page, [[1, "I", 0, "info"], [2, "W", 1, [["war", "red", ""], ["ning", None, ""]]], [3, "E", 0, "error"]], 3)
    page.get_by_label("Level").select_option("2")
    page.get_by_role("button", name="Copy").click()
    # a page without an address has no clipboard: what is copied is asked of the view
    assert page.evaluate("view.visibleText()") == "warning\nerror"


def test_keyboard_and_screen_reader(page: Any) -> None:
    feed(page, rows(1, 300))
    box = page.get_by_role("group", name="Lines of the log")
    box.focus()
    box.press("Home")
    page.wait_for_function("!view.following")
    box.press("End")
    page.wait_for_function("view.following")
    box.press("/")
    assert page.evaluate("document.activeElement === view.search")
    assert page.get_by_role("region", name="Log").count() == 1
    # a reader that reads each new line aloud would never end
    assert page.evaluate("view.box.getAttribute('aria-live') === null && view.box.getAttribute('role') !== 'log'")
    unnamed = page.evaluate(
        "[...view.root.querySelectorAll('button,input,select')]"
        ".filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label'))).length"
    )
    assert unnamed == 0


def test_keys_in_the_view_do_not_reach_the_notebook(page: Any) -> None:
    feed(page, rows(1, 3))
    page.evaluate("window.outside = []; document.addEventListener('keydown', event => outside.push(event.key))")
    page.locator(".amnb-lines").press("d")
    page.locator(".amnb-lines").press("d")
    assert page.evaluate("outside") == []


def test_long_lines_wrap_or_scroll(page: Any) -> None:
    feed(page, [[1, "", None, "x" * 2000]], 1)
    wide = "view.box.scrollWidth > view.box.clientWidth"
    assert not page.evaluate(wide)
    page.get_by_label("wrap").uncheck()
    assert page.evaluate(wide)


def test_text_is_inert(page: Any) -> None:
    attack = '<img src=x onerror="hit()"><script>hit()</script><svg onload=hit()>'
    feed(page, [[1, "E", None, attack], [2, "", None, [[attack, "red", "b"], [attack, '#"onload="hit()', ""]]]], 2)
    page.evaluate("text => { view.pinned([1, text, null], true); ring.bar = text; view.update(text); }", attack)
    page.wait_for_timeout(200)
    assert page.evaluate("hits") == 0
    assert page.locator("main img, main script, main svg").count() == 0
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"hit()\">')")  # the sentinel works
    page.wait_for_function("hits === 1")


def test_a_bar_is_redrawn_in_place(page: Any) -> None:
    feed(page, rows(1, 3))
    for text in ("10%|#  |", "20%|## |"):
        page.evaluate("text => { ring.bar = text; view.update(''); }", text)
    assert page.locator(".amnb-bar").inner_text() == "20%|## |"
    page.evaluate("ring.bar = ''; view.update('')")
    assert not page.locator(".amnb-bar").is_visible()


def test_five_thousand_lines_without_jank(page: Any) -> None:
    """Each portion is drawn well within the 0.1 s that it has; so is a search and a filter over everything."""
    took = page.evaluate(
        """() => {
            const text = n => `line ${n} ` + 'x'.repeat(140), drawn = [];
            const timed = work => { const t = performance.now(); work(); view.box.offsetHeight; return performance.now() - t; };
            for (let n = 0; n < 10000; n += 200) {
                const rows = Array.from({length: 200}, (_, i) => [n + i + 1, 'I', null, text(n + i + 1)]);
                drawn.push(timed(() => feed(rows, n + 200)));
            }
            drawn.sort((a, b) => a - b);
            return {median: drawn[drawn.length >> 1],
                search: timed(() => view.find('line 99')), level: timed(() => view.filter({level: 2}))};
        }"""
    )
    assert took["median"] < 50, took
    assert took["search"] < 300, took
    assert took["level"] < 300, took
