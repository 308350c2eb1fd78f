"""Hostile text in every field of every view, opened in a real Chromium: the page itself counts what ran."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest

from automodel_nb.findings import Finding, Fix
from automodel_nb.states import JobState
from automodel_nb.views import card_html, curve_svg, findings_html, jobs_html, lines_html, preview_html
from automodel_nb.views.html import image
from automodel_nb.views.model import CardData, Failure, JobRow
from automodel_nb.watching.points import MetricPoint
from automodel_nb.watching.progress import Progress
from tests.unit.views_samples import NOON, training

pytestmark = pytest.mark.browser

PAYLOADS = [
    '<img src="http://192.0.2.1/x" onerror="hit()">',
    "<img src=x: onerror=hit()>",
    "</pre></code></details></title></desc></svg></style></textarea><script>hit()</script>",
    '"><svg onload=hit()><script>hit()</script></svg>',
    "' onmouseover='hit()' autofocus onfocus='hit()' x='",
    '" onerror="hit()" style="background:url(\'javascript:hit()\')" x="',
    "javascript:hit()",
    "&lt;img src=x onerror=hit()&gt;&#60;script&#62;hit()&#60;/script&#62;",
    "\x1b[31m<script>hit()</script>\x1b[0m\x1b]8;;javascript:hit()\x07click\x1b]8;;\x07",
    '`<img src=x onerror=hit()>` and `"><script>hit()</script>`',
    "]]><![CDATA[<script>hit()</script>--><!--",
    "%3Cscript%3Ehit()%3C/script%3E'/><script>hit()</script>",
    "<iframe srcdoc='<script>parent.hit()</script>'></iframe><base href=//192.0.2.1/>",
    "<meta http-equiv=refresh content='0;url=//192.0.2.1/'><link rel=stylesheet href=//192.0.2.1/>",
    "\ud800\udcff\x00\u202e<script>hit()</script>",
    "#SBATCH <b onclick=hit()>x</b>\n# <b onclick=hit()>x</b>\n+<b onclick=hit()>x</b>\n-<i onclick=hit()>x</i>",
]
TAGS = "code dd details div dl dt em img li nobr pre span strong summary table tbody td th thead tr ul"
SVG_TAGS = "svg title desc g line text tspan path circle"


def filled(kind: type, text: str, **given: Any) -> Any:
    """An instance in which every field that may hold text holds `text`: a field added later is covered too."""
    values: dict[str, Any] = {}
    for field in fields(kind):
        name, annotation = field.name, str(field.type)
        if name in given:
            values[name] = given[name]
        elif annotation.startswith("str"):
            values[name] = text
        elif annotation == "Sequence[str]":
            values[name] = [text, text]
        elif annotation == "Sequence[tuple[str, str]]":
            values[name] = [(text, text)]
    return kind(**values)


def views(text: str) -> Iterator[str]:
    points = [
        *training(40),
        MetricPoint(9, 0, text, 2.5),
        MetricPoint(19, 0, f"val/{text}", 2.5),
        MetricPoint(40, 0, text, float("nan")),
    ]
    findings = [filled(Finding, text, severity="error", line=1, column=1, fix=Fix(text, text, text))]
    progress = Progress(step=4, epoch=0, total_steps=9, fraction=0.5, eta_s=9, last_line=text)
    failure = filled(Failure, text)
    for state in (JobState.RUNNING, JobState.FAILED):
        card = filled(CardData, text, state=state, findings=findings, progress=progress, points=points, failure=failure)
        yield card_html(replace(card, submitted=NOON, started=NOON, as_of=NOON, attempt=1))
    yield jobs_html([filled(JobRow, text, state=JobState.UNKNOWN, progress=progress, loss=1.0)], NOON)
    yield findings_html(findings)
    yield preview_html({text: text, "recipe.yaml": text}, text, [text], {text: text, "marker": Exception(text)}, findings, text)
    yield lines_html([text])
    yield curve_svg(points, restarts=[3])
    yield image(curve_svg(points), text, 100)


def visit(chromium: Any, body: str) -> tuple[int, list[str], Any]:
    """How often hit() ran, what was fetched, and the page, after everything in it was opened, hovered, focused and clicked."""
    page = chromium.new_page()
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url) if not request.url.startswith("data:") else None)
    page.on("popup", lambda _: fetched.append("popup"))
    page.route("**/*", lambda route: route.abort() if not route.request.url.startswith("data:") else route.continue_())
    page.set_content(f"<!doctype html><meta charset=utf-8><script>hits = 0; hit = () => hits++</script><main>{body}</main>")
    page.evaluate("""() => {
        for (const d of document.querySelectorAll('details')) d.open = true;
        for (const e of document.querySelectorAll('main *'))
            for (const name of ['mouseover', 'focus', 'click', 'load'])
                e.dispatchEvent(new MouseEvent(name, {bubbles: true, cancelable: true}));
    }""")
    page.wait_for_timeout(150)
    return page.evaluate("hits"), fetched, page


def test_the_sentinel_works(chromium: Any) -> None:
    hits, fetched, page = visit(chromium, '<img src="http://192.0.2.1/x" onerror="hit()"><b onclick="hit()">x</b>')
    page.close()
    assert hits == 2
    assert fetched == ["http://192.0.2.1/x"]


def test_nothing_runs_nothing_is_fetched_and_everything_is_shown(chromium: Any) -> None:
    body = "".join(view.encode("utf-8").decode() for payload in PAYLOADS for view in views(payload))
    hits, fetched, page = visit(chromium, body)
    assert hits == 0
    assert fetched == []
    tags = set(page.evaluate("[...new Set([...document.querySelectorAll('main *')].map(e => e.tagName.toLowerCase()))]"))
    assert tags <= {*TAGS.split(), *SVG_TAGS.split()}
    attributes = set(
        page.evaluate("[...new Set([...document.querySelectorAll('main *')].flatMap(e => e.getAttributeNames()))]")
    )
    assert not {
        name
        for name in attributes
        if name.startswith("on") or name in ("href", "id", "class", "action", "srcdoc", "xlink:href")
    }
    broken = page.evaluate("[...document.images].filter(i => !(i.complete && i.naturalWidth)).length")
    assert broken == 0  # each curve is a picture that Chromium reads
    text = page.evaluate("document.querySelector('main').innerText")
    page.close()
    for payload in (PAYLOADS[0], PAYLOADS[3], PAYLOADS[7]):
        assert text.count(payload) >= 20
