"""Hooks of mkdocs: what is made when the documents are built, and kept nowhere else.

The page of a run with its pictures, which take Chromium; and a table of an agent's settings.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

PICTURES = {"report-light": (1200, "light", 1500), "report-narrow-dark": (400, "dark", 1400)}


def on_files(files: Files, config: Any) -> Files:
    """Add `pictures/`: the page as it is, and as it looks."""
    sys.path.insert(0, str(Path(__file__).parent))
    from storied_run import told_run

    from flyteplugins_codegen.stages.report.page import render_page

    page = render_page(told_run())
    files.append(File.generated(config, "pictures/report.html", content=page))
    for name, picture in _pictures(page).items():
        files.append(File.generated(config, f"pictures/{name}.png", content=picture))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the table of settings where a page asks for it."""
    return markdown.replace("<!-- the settings -->", _settings()) if "<!-- the settings -->" in markdown else markdown


def _settings() -> str:
    from flyteplugins_codegen.models.settings import Settings

    types = Settings.__annotations__
    rows = [
        f"| `{name}` | `{types[name].replace(' | ', ' or ')}` | {_default(field)} | {field.description} |"
        for name, field in Settings.model_fields.items()
    ]
    return "\n".join(["| field | type | default | |", "|---|---|---|---|", *rows])


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    return "" if value is None or value in ((), {}) else f"`{value}`"


def _pictures(page: str) -> dict[str, bytes]:
    from browser import browser_page

    # The browser's helpers may still write when it has ended.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder, "report.html")
        path.write_text(page)
        with browser_page(Path(folder, "profile")) as opened:
            opened.open(path)
            return {name: _picture(opened, *how) for name, how in PICTURES.items()}


def _picture(opened: Any, width: int, scheme: str, height: int) -> bytes:
    opened.show_as(width=width, scheme=scheme)
    opened.ask("Emulation.setScrollbarsHidden", hidden=True)
    opened.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    return base64.b64decode(opened.ask("Page.captureScreenshot", format="png")["data"])
