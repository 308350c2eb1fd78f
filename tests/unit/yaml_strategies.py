"""Hypothesis strategies for launch documents, drawn from YAML's grammar rather than from templates.

Block and flow, at every depth; plain, quoted, literal and folded scalars over one and several lines; anchors, aliases and
merge keys; comments and blank lines at any indentation; explicit keys, tags, directives; CRLF, a byte order mark, text of
any script. `documents()` gives text that ``yaml.safe_load`` reads to a mapping (checked by the test that uses it).
"""
# ruff: noqa: E501 (tables of exact texts)

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

SECTION_NAMES = ("slurm", "skypilot", "interactive")
FIELDS = ("nodes", "time", "job_name", "env_vars", "extra_mounts", "setup", "account", "name with space", "größe", "on")
RECIPE_KEYS = ("recipe", "model", "step_scheduler", "optimizer", "データ", "checkpoint", "1", "dist env", "x-y", "é")

PLAIN = (
    "4", "word", "two words", "10:00:00", "on", "yes", "0123", "1e-5", "1.0e-5", "~", "null", "2024-01-02", "nvcr.io/nvidia/nemo:dev",
    "${HF_TOKEN}", "a'b", 'a"b', "a#b", "-1", "--flag", "é ü 😀", "/a/b:/c:ro", "x&y", "x*y", "x!", "50%", "<<x",
)  # fmt: skip
FLOW_PLAIN = tuple(text for text in PLAIN if not set(text) & set("{}[],"))
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Co")), max_size=12).filter(
    lambda text: not set(text) & set("\u2028\u2029\ufeff\x85\ufffe\uffff")
)
WORDS = ("alpha", "beta's", 'gam"ma', "δέλτα", "{{ x }}", "#no", "a: b", "- c", "${X}", "\\n")


@dataclass
class _State:
    draw: st.DrawFn
    anchors: dict[str, str] = field(default_factory=dict)  # name -> "map" | "other", those that are complete
    count: int = 0

    def one(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def chance(self, of: int) -> bool:
        return self.draw(st.integers(0, of - 1)) == of - 1  # so that it shrinks to False

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))


@st.composite
def documents(draw: st.DrawFn, sections: tuple[str, ...] = SECTION_NAMES, at_most: int = 1) -> str:
    """The text of a document: a recipe, and up to `at_most` launcher sections."""
    state = _State(draw)
    names = draw(st.lists(st.sampled_from(RECIPE_KEYS), unique=True, max_size=4))
    names += draw(st.lists(st.sampled_from(sections), unique=True, min_size=0 if names else 1, max_size=at_most))
    names = draw(st.permutations(names))
    if state.chance(4):
        body = _flow_map(state, list(names), 0, 2)
        text = body + _comment(state) + "\n"
    else:
        text = _block_map(state, list(names), 2 if state.chance(6) else 0, 0).lstrip("\n") + "\n"
    if state.chance(6):
        text = ("%YAML 1.1\n" if state.chance(2) else "") + "---" + _comment(state) + "\n" + text
    elif state.chance(4):
        text = "# head: of the document\n" + text
    if state.chance(6):
        text += "...\n" + ("# after\n" if state.chance(2) else "")
    if state.chance(6):
        text = text.rstrip("\n")
    if state.chance(3):
        text = text.replace("\n", "\r\n")
    return "\ufeff" * state.chance(8) + text


def _comment(state: _State) -> str:
    return state.one("", "", "", " # a comment", "  # it's: {a} [comment]", " #")


def _between(state: _State, indent: int) -> str:
    """Blank lines and comments in front of an entry."""
    lines = ""
    for _ in range(state.number(0, 2) if state.chance(3) else 0):
        lines += state.one("\n", "\n   ", "\n" + " " * indent + "# here", "\n" + " " * (indent + 2) + "# deeper: x", "\n# left")
    return lines


def _key(state: _State, name: str) -> str:
    plain = name if name != "on" or state.chance(2) else '"on"'
    if state.chance(6):
        plain = state.one(f'"{name}"', f"'{name}'")
    if state.chance(12):
        plain = _anchor(state, "other") + plain
    return plain


def _anchor(state: _State, kind: str) -> str:
    state.count += 1
    name = f"a{state.count}"
    state.anchors[name] = kind
    return f"&{name} "


def _block_map(state: _State, names: list[str], indent: int, depth: int) -> str:
    pad = " " * indent
    text = ""
    if state.chance(5) and (maps := [name for name, kind in state.anchors.items() if kind == "map"]):
        text += f"\n{pad}<<: " + (f"*{maps[-1]}" if state.chance(2) else f"[{', '.join('*' + name for name in maps[:2])}]")
    for name in names:
        text += _between(state, indent)
        if state.chance(12):
            if state.chance(3):
                text += f"\n{pad}? {name}" + _comment(state)
            else:
                text += f"\n{pad}? {name}{_comment(state)}\n{pad}:{_value(state, indent, depth, name)}"
        else:
            text += f"\n{pad}{_key(state, name)}:{_value(state, indent, depth, name)}"
    return text + (_between(state, indent) if state.chance(3) else "")


def _block_list(state: _State, indent: int, depth: int) -> str:
    pad = " " * indent
    text = ""
    for _ in range(state.number(1, 3)):
        text += _between(state, indent)
        if state.chance(3) and depth < 3:
            names = state.draw(st.lists(st.sampled_from(FIELDS), unique=True, min_size=1, max_size=2))
            text += f"\n{pad}- " + _block_map(state, names, indent + 2, depth + 1).lstrip("\n ").removeprefix("# here")
        else:
            text += f"\n{pad}-{_value(state, indent, depth + 1)}"
    return text


def _value(state: _State, indent: int, depth: int, name: str = "") -> str:
    """What follows ``key:`` or ``-``, with its own space or line break in front."""
    inner = indent + state.one("  ", "    ", " ").count(" ")
    structured = name in SECTION_NAMES or state.chance(3)
    if structured and depth < 3:
        # an anchor of a collection is complete, and can be named, after the collection
        before = dict(state.anchors)
        anchor = _anchor(state, "other") if state.chance(5) else ""
        mine = dict(state.anchors)
        state.anchors = before
        names = state.draw(st.lists(st.sampled_from(FIELDS), unique=True, min_size=1, max_size=3))
        kind = (
            state.one("map", "map", "list", "flow map", "flow list")
            if name not in SECTION_NAMES
            else state.one("map", "map", "flow map")
        )
        if kind == "map":
            text = _comment(state) + _block_map(state, names, inner, depth + 1)
        elif kind == "list":
            text = _comment(state) + _block_list(state, indent if name and state.chance(2) else inner, depth + 1)
        elif kind == "flow map":
            text = _flow_map(state, names, inner, depth + 1) + _comment(state)
        else:
            text = _flow_list(state, inner, depth + 1) + _comment(state)
        for added, of in mine.items():
            if added not in before:
                state.anchors[added] = "map" if "map" in kind else of
        lead = " " + anchor.rstrip() if anchor else ""
        return lead + (text if kind in ("map", "list") else " " + text)
    if state.chance(5):
        return _block_scalar(state, inner)
    if state.chance(8):
        return _several_lines(state, inner)
    if state.chance(8):
        written = state.one("", " ~", " null", " !!str", " &")
        return (" " + _anchor(state, "other").strip() if written == " &" else written) + _comment(state)
    return " " + _flow_scalar(state, PLAIN) + _comment(state)


def _flow_scalar(state: _State, plain: tuple[str, ...]) -> str:
    if state.anchors and state.chance(6):
        return "*" + state.one(*state.anchors)
    tag = "!!str " if state.chance(15) else ""
    text = state.draw(TEXT)
    written = {
        "plain": state.one(*plain),
        "single": "'" + text.replace("'", "''") + "'",
        "double": '"' + text.replace("\\", "\\\\").replace('"', '\\"') + state.one("", "\\n", "\\u00e9", "\\x41", "\\t") + '"',
    }[state.one("plain", "plain", "single", "double")]
    anchor = _anchor(state, "other") if state.chance(8) else ""
    return anchor + tag + written


def _flow_map(state: _State, names: list[str], indent: int, depth: int) -> str:
    entries = []
    for name in names:
        if state.chance(12) and name not in SECTION_NAMES:
            entries.append(name)  # a key alone: its value is null
            continue
        colon = ": " if state.chance(8) is False else " : "
        entries.append(_key(state, name) + colon + _flow_value(state, indent, depth, name))
    return "{" + _flow_entries(state, entries, indent) + "}"


def _flow_list(state: _State, indent: int, depth: int) -> str:
    entries = [_flow_value(state, indent, depth, item=True) for _ in range(state.number(0, 3))]
    if state.chance(6):
        entries.append("pair: " + _flow_scalar(state, FLOW_PLAIN))
    return "[" + _flow_entries(state, entries, indent) + "]"


def _flow_entries(state: _State, entries: list[str], indent: int) -> str:
    pad = " " * (indent + 1)
    text = state.one("", "", " ")
    if entries and state.chance(4):  # one a line
        text = "".join(
            f"\n{pad}{entry}{',' if more or state.chance(2) else ''}{_comment(state)}" for more, entry in _flagged(entries)
        )
        return text + f"\n{pad}"
    text += state.one(", ", ",", " , ", f",\n{pad}").join(entries)
    return text + (state.one("", "", ",", ", ", " ") if entries else "")


def _flagged(entries: list[str]) -> list[tuple[bool, str]]:
    return [(index < len(entries) - 1, entry) for index, entry in enumerate(entries)]


def _flow_value(state: _State, indent: int, depth: int, name: str = "", item: bool = False) -> str:
    if depth < 3 and (name in SECTION_NAMES or state.chance(5)):
        if name in SECTION_NAMES or state.chance(2):
            names = state.draw(st.lists(st.sampled_from(FIELDS), unique=True, max_size=3))
            return _flow_map(state, names, indent, depth + 1)
        return _flow_list(state, indent, depth + 1)
    if not item and state.chance(10):
        return ""
    return _flow_scalar(state, FLOW_PLAIN)


def _block_scalar(state: _State, indent: int) -> str:
    header = state.one("|", ">") + state.one("", "", "-", "+")
    lines = state.draw(st.lists(st.sampled_from((*WORDS, "", "  deeper", "# text")), max_size=4))
    if lines and lines[0].startswith(" "):
        lines[0] = lines[0].strip()
    anchor = _anchor(state, "other") if state.chance(8) else ""
    body = "".join("\n" + (" " * indent + line if line else state.one("", " " * indent)) for line in lines)
    return f" {anchor}{header}{state.one('', '', ' # said of the text')}{body}"


def _several_lines(state: _State, indent: int) -> str:
    pad = "\n" + " " * indent
    kind = state.one("plain", "'", '"')
    if kind == "plain":
        return " first" + pad + "second" + state.one("", "\n") + pad + "third" + _comment(state)
    return f" {kind}first" + pad + "  second # no comment" + state.one("", "\n") + pad + f"third{kind}" + _comment(state)
