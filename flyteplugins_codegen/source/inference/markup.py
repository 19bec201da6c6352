"""Text that begins with a tag: HTML, XML, or the elements of JavaScript's JSX."""

from __future__ import annotations

import re
from typing import Final

_HTML_TAGS: Final = frozenset(
    """
    html head body div span p a ul ol li dl dt dd h1 h2 h3 h4 h5 h6 table thead tbody tfoot tr th td form input button
    select option textarea label img br hr script style link meta nav header footer main section article aside figure
    figcaption strong em b i u s small code pre blockquote iframe video audio source canvas details summary dialog
    template fieldset legend noscript picture sup sub mark abbr time progress center font slot kbd
    """.split()
)
# In documents of other kinds these are names as good as any, with text of their own between them.
_SHARED_TAGS: Final = frozenset("link a b i s p title source time label option section summary head body header code".split())
_TAG: Final = re.compile(r"<(/?)([A-Za-z][\w.:-]{0,60})")
_JSX: Final = re.compile(r"\bclassName=|\w=\{|\{/\*|>\s*\{\w[\w.]*(?:\.map\(|\})|<>")
_LONE_COMPONENT: Final = re.compile(r"<[A-Z]\w*(?:\.\w+)?(?: [^<>:]{0,200})?/>;?$")
_PLACEHOLDER: Final = re.compile(r"<[\w -]+>\s*$")
_BEFORE: Final = re.compile(r"(?:\s*(?:\{[%#][^%\n]*[%#]\}|<!--[\s\S]*?-->|<\?(?!xml|php|=)[^>]*>))+")


def infer_markup(text: str) -> str:
    """`html`, `xml` or `javascript` for a text that begins with a tag; "" where it does not."""
    start = _after_preamble(text)
    if not start.startswith("<"):
        return ""
    head = start[:200].lower()
    if head.startswith(("<!doctype html", "<html")):
        return "html"
    if head.startswith("<?xml"):
        return "html" if "<!doctype html" in text[:1000].lower() else "xml"
    return _by_tags(start)


def _after_preamble(text: str) -> str:
    before = _BEFORE.match(text)
    return text[before.end() if before else 0 :].lstrip()


def _by_tags(start: str) -> str:
    names = [name for _, name in _TAG.findall(start)]
    if not names or (not _TAG.match(start) and not start.startswith("<!")):
        return ""
    if _PLACEHOLDER.match(start) and names[0].lower() not in _HTML_TAGS:
        return "unknown"
    if (_JSX.search(start) or _LONE_COMPONENT.match(start)) and "xmlns" not in start:
        return "javascript"
    first = names[0].lower()
    html = sum(name.lower() in _HTML_TAGS for name in names)
    certain = sum(name.lower() in _HTML_TAGS - _SHARED_TAGS for name in names)
    if html == len(names) or certain > len(names) / 2 or (first in _HTML_TAGS and certain):
        return "html"
    return "html" if "-" in first and ":" not in first and certain else "xml"
