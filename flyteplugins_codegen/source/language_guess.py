"""Stand-in until `infer_lang` is merged."""

from __future__ import annotations

import ast
import json
import re

R = [
    ("diff", r"^(?:diff --git|--- .*\n\+\+\+ |@@ -)"),
    ("html", r"^\s*(?:<!DOCTYPE html|<!--|<(?:html|div|p|body|b|h1)\b)"),
    ("dockerfile", r"^FROM [\w.:/-]+(?: AS \w+)?\n(?:[A-Z]+ )|^FROM \S+:\S+$"),
    ("sql", r"^\s*(?:SELECT\b|INSERT INTO|CREATE TABLE|DELETE FROM|UPDATE \w+ SET|DROP )"),
    ("bash", r"^#!/bin/bash|^for \w+ in .*; do|\[\["),
    (
        "sh",
        r"^(?:\$ )?(?:sudo|pip3?|npm|npx|git|cd|ls|mkdir|docker|make|apt-get|curl|python3? [\w-]|node \w|echo|export|cat|rm|cp|flask run|go build)\b",
    ),
    ("c", r"^#include\b"),
    ("rust", r"\bfn \w+\(.*\)"),
    ("go", r"^package \w+|func \w+\("),
    ("typescript", r"\b(?:interface|type) \w+\b.*\{|: (?:number|string)\b|export const"),
    ("javascript", r"\b(?:const|let|var) \w+ =|function \w*\(|console\.log|=>"),
    ("css", r"^[\w.#*:, -]+\{[^}]*:[^}]*\}|^/\* .*\*/\n\w+ \{"),
]


def infer_lang(code: str) -> str:
    if not code.strip():
        return "unknown"
    try:
        v = json.loads(code)
        if isinstance(v, (dict, list)):
            return "json"
    except Exception:
        pass
    for lang, pat in R:
        if lang in ("c", "rust", "go", "typescript", "javascript", "css"):
            continue
        if re.search(pat, code.lstrip("\n"), re.M if lang == "diff" else 0):
            return lang
    if len(code) < 200000:
        for src in (code, "def f():\n" + code if code.startswith(" ") else code):
            try:
                tree = ast.parse(src)
            except Exception:
                continue
            if (
                re.search(r"[=(:]|^(?:import|from|return|pass)\b", code)
                and not re.fullmatch(r"[\w\s.,'-]+:?[\w\s.,'-]*", code.strip())
                or re.search(r"^\s*(?:import|from) \w", code)
            ):
                return "python"
    for lang, pat in R:
        if re.search(pat, code, re.M):
            return lang
    if re.match(r"(?:[\w-]+:(?: .*)?\n(?:[ -].*\n?)*)+$", code + "\n") and re.search(r"^\w[\w-]*:", code):
        return "yaml"
    if re.search(r"^(?:def \w+\(|class \w+.*:|import \w|from \w+ import)", code, re.M):
        return "python"
    return "unknown"
