"""Text that begins with a tag: HTML, XML, or the elements of JavaScript's JSX."""

from __future__ import annotations

import re
from typing import Final

from flyteplugins_codegen.source.inference.evidence import names

_HTML_TAGS: Final = names(
    """
    html head body div span p a ul ol li dl dt dd h1 h2 h3 h4 h5 h6 table thead tbody tfoot tr th td form input button
    select option textarea label img br hr script style link meta nav header footer main section article aside figure
    figcaption strong em b i u s small code pre blockquote iframe video audio source canvas details summary dialog
    template fieldset legend noscript picture sup sub mark abbr time progress center font slot kbd
    """
)
# In documents of other kinds these are names as good as any.
_SHARED_TAGS: Final = names("link a b i s p title source time label option section summary head body header code")
_TAG: Final = re.compile(r"</?([A-Za-z][\w.:-]{0,60})")
_JSX: Final = re.compile(r"\bclassName=|\w=\{|\{/\*|>\s*\{\w[\w.]*(?:\.map\(|\})|<>")
_LONE_COMPONENT: Final = re.compile(r"<[A-Z]\w*(?:\.\w+)?(?: [^<>:]{0,200})?/>;?$")
_PLACEHOLDER: Final = re.compile(r"<[\w -]+>\s*$")
_PREAMBLE: Final = re.compile(r"(?:\s*(?:\{[%#][^%\n]*[%#]\}|<!--[\s\S]*?-->|<\?(?!xml|php|=)[^>]*>))+")
_DOCTYPE: Final = "<!doctype html"


def infer_markup(text: str) -> str:
    """`html`, `xml` or `javascript` for a text that begins with a tag; "" where it does not."""
    preamble = _PREAMBLE.match(text)
    start = text[preamble.end() if preamble else 0 :].lstrip()
    head = start[:1_000].lower()
    if head.startswith((_DOCTYPE, "<html")):
        return "html"
    if head.startswith("<?xml"):
        return "html" if _DOCTYPE in head else "xml"
    return _infer_by_tags(start) if _TAG.match(start) or head.startswith("<!") else ""


def _infer_by_tags(start: str) -> str:
    tags = [tag.lower() for tag in _TAG.findall(start)]
    if not tags:
        return ""
    if _PLACEHOLDER.match(start) and tags[0] not in _HTML_TAGS:
        return "unknown"
    if (_JSX.search(start) or _LONE_COMPONENT.match(start)) and "xmlns" not in start:
        return "javascript"
    return "html" if _is_html(tags) else "xml"


def _is_html(tags: list[str]) -> bool:
    certain = sum(tag in _HTML_TAGS and tag not in _SHARED_TAGS for tag in tags)
    is_own_element = "-" in tags[0] and ":" not in tags[0]
    return (
        all(tag in _HTML_TAGS for tag in tags)
        or 2 * certain > len(tags)
        or (certain > 0 and (tags[0] in _HTML_TAGS or is_own_element))
    )
