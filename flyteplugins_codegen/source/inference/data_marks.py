"""What speaks for SQL, YAML, TOML, INI, JSON that no parser takes, Dockerfile and Makefile."""

from __future__ import annotations

from typing import Final

from flyteplugins_codegen.source.inference.evidence import any_case_mark, mark, raw_mark, words

WORDS: Final = (
    words("VARCHAR INTEGER VALUES INSERT SELECT WHERE DISTINCT TIMESTAMP REFERENCES CONSTRAINT", sql=1.5),
    words("JOIN INNER OUTER HAVING LIMIT OFFSET UNION COMMIT ROLLBACK COALESCE varchar BIGINT SERIAL", sql=1.5),
    words("FROM TABLE INDEX GROUP ORDER BY INTO AND NOT DESC ASC PRIMARY KEY DEFAULT UNIQUE", sql=0.7),
)

_SQL_MARKS: Final = (
    any_case_mark("select", r"^\(?select\b[^;]{1,600}?\bfrom\s+[\w\"`.\[(#{]", sql=3),
    any_case_mark("select", r"^\(?select\s+(?:\*|count|distinct|top \d|\d|[\w.\"]+\s*,|[\w.]+\(|@@)", sql=3.5),
    any_case_mark(
        "insert delete merge replace", r"^(?:insert\s+into|delete\s+from|merge\s+into|replace\s+into)\s+\S", sql=5
    ),
    any_case_mark("update", r"^update\s+[\w.\"`]+\s+(?:\w+\s+)?set\s", sql=6),
    any_case_mark(
        "create",
        r"^create\s+(?:or\s+replace\s+)?(?:(?:temp|temporary|unique|materialized|external)\s+)?"
        r"(?:table|view|index|database|schema|function|procedure|trigger|user|role|type|sequence|extension)\s",
        sql=6,
    ),
    any_case_mark(
        "alter drop truncate",
        r"^(?:alter|drop|truncate)\s+"
        r"(?:table|view|index|database|schema|user|column|function|role)\s",
        sql=6,
    ),
    any_case_mark("with", r"^with\s+(?:recursive\s+)?\w+\s+as\s*(?:materialized\s*)?\(", sql=6),
    any_case_mark("grant revoke", r"^(?:grant|revoke)\s+[\w, ]+\s+on\s", sql=6),
    any_case_mark("show", r"^show\s+(?:databases|tables|columns|create|index|variables)", sql=4),
    any_case_mark("describe use", r"^(?:describe|use)\s+\w+;", sql=4),
    any_case_mark("explain", r"^explain\s+(?:analyze\s+|\([^)\n]*\)\s+)?(?:select|update|delete|insert|with)\b", sql=6),
    any_case_mark("by", r"(?:group|order|partition)\s+by\s+[\w\"`(.]", sql=2.5),
    any_case_mark("join", r"(?:left|inner|right|full|cross|outer)\s+(?:outer\s+)?join\s+\w", sql=3),
    any_case_mark("where", r"\bwhere\s+[\w.\"`]+\s*(?:=|<|>|!=|in\s*\(|like\s|is\s|between\s)", sql=3),
    any_case_mark("values count sum primary null", r"values\s*\(|count\(\*\)|sum\(\w|primary key|not null", sql=2.5),
    mark("--", r"^--$|^-- ?", sql=1),
    any_case_mark(
        "begin commit rollback start", r"^(?:begin|commit|rollback|start transaction)(?: transaction| work)?;", sql=4
    ),
    any_case_mark("declare", r"^declare\s+@?\w+\s+\w+", sql=4),
    any_case_mark("set", r"^set\s+@\w+\s*=", sql=4),
    mark("CREATE ALTER DROP", r"\n(?:CREATE|ALTER|DROP) [A-Z]+ [^\n]", sql=4),
    mark("\\", r"\n\\(?:d|dt|l|c|copy|timing|x|echo)\b", sql=4),
    mark("$$", r"\$\$", sql=2),
    mark("PRAGMA", r"^PRAGMA \w+", sql=5),
)

# What a count of lines does not see.
_SETTINGS_MARKS: Final = (
    mark("---", r"\A\n---\n", yaml=2.5),
    mark("-", r"^- [\w\"'-]+:(?: |$)", yaml=4),
    mark(":", r"^(?:- )?[\w-]+:[ \t]*[|>][-+]?$", yaml=7),
    mark(":", r"\n[\w-]+:[ \t]*(?:#.*)?\n[ \t]+[\w\"'./-]+:(?: |$)", yaml=4),
    mark(":", r"^[a-z_][\w-]*:[ \t]*(?:#.*)?\n[ \t]*- ", yaml=4),
    mark(":", r"<<: \*|: &\w+$", yaml=6),
    mark("apiVersion", r"\napiVersion: ", yaml=6),
    mark(":", r"^(?:- )?[\w-]+: (?:true|false|yes|no|null|\d[\d.]*|\[[^\n]*\]|\"\"|'')[ \t]*$", yaml=1.5),
    mark("[[", r"\n\[\[[\w.\"-]+\]\]$", toml=6),
    mark(
        "[",
        r"\n\[(?:tool|project|package|dependencies|build-system|dev-dependencies|workspace|profile)[.\w\"-]*\]$",
        toml=4,
    ),
    mark("=", r"\n[\w.-]+ ?= ?\{[^\n]*\}[ \t]*$", toml=2),
    mark("=", r"\n\w+(?:-\w+)+ = (?:\"\"|true|false|\d|\[)", toml=4),
    mark("=", r"\n[\w-]+ = (?:true|false)$", toml=3),
    mark("=", r"\n[\w-]+ ?= ?\d{4}-\d\d-\d\d", toml=4),
    mark("[", r"\n\[(?:Unit|Service|Install|DEFAULT|mysqld|global|core|remote [^\]\n]*|branch [^\]\n]*)\]$", ini=4),
    mark(";", r"\n; ", ini=3),
    raw_mark('"', r'^"[\w$ .@/-]+"[ \t]*:[ \t]*(?:"[^"\n]*"|\d[\d.]*|true|false|null|\[|\{)', json=2),
    raw_mark('"', r'\A\s*(?:[\[{]\s*){0,3}(?:(?://|/\*)[^\n]*\n\s*)?"[^"\n]*"\s*:', json=6),
)

_RECIPE_MARKS: Final = (
    mark("FROM", r"\nFROM (?:--platform=\S+ )?[\w./:${}@-]+(?: (?:AS|as) [\w.-]+)?[ \t]*$", dockerfile=6),
    mark("RUN", r"\nRUN \S", dockerfile=7),
    mark("COPY ADD", r"\n(?:COPY|ADD) (?:--[\w-]+=\S+ )*\S+ \S", dockerfile=5),
    mark("WORKDIR", r"\nWORKDIR \S", dockerfile=6),
    mark("ENV", r"\nENV \w+[ =]", dockerfile=5),
    mark("EXPOSE", r"\nEXPOSE \d", dockerfile=6),
    mark("CMD", r"\nCMD (?:\[|\S)", dockerfile=5),
    mark("ENTRYPOINT", r"\nENTRYPOINT (?:\[|\S)", dockerfile=6),
    mark(
        "ARG LABEL USER VOLUME HEALTHCHECK ONBUILD STOPSIGNAL MAINTAINER SHELL",
        r"\n(?:ARG \w+(?:=|$)|LABEL [\w.\"-]+=|USER \w+$|VOLUME [\[/]|HEALTHCHECK |ONBUILD |STOPSIGNAL |MAINTAINER |"
        r"SHELL \[)",
        dockerfile=4,
    ),
    mark(":", r"\n[\w./%$()@-]+(?: [\w./%$()@-]+)*[ \t]*::?(?!=)[^\n=;{]*\n\t[ \t]*\S", makefile=7),
    mark(".PHONY", r"\n\.PHONY[ \t]*:", makefile=9),
    mark(".", r"\n\.(?:DEFAULT_GOAL|SUFFIXES|DELETE_ON_ERROR|ONESHELL|SILENT|DEFAULT)\b", makefile=9),
    mark("$(", r"\$\([A-Z_]+[:)]", makefile=3),
    mark("$(", r"\$\((?:wildcard|shell|patsubst|foreach|subst|filter|dir|notdir|addprefix|call|MAKE)\b", makefile=7),
    mark("$@ $< $^", r"(?<=\s)\$[@<^](?=\s)", makefile=3),
    mark("=", r"\n(?:[A-Z][A-Z0-9_]* *[:?]=|\w+ *\?=|\w+ *:= *\$\() ?", makefile=4),
    mark("=", r"\n[A-Z_]+ = [^\n\"']*$", makefile=2),
    mark(
        "CC CXX CFLAGS CXXFLAGS LDFLAGS LDLIBS OBJS SRCS TARGET PREFIX",
        r"\n(?:CC|CXX|CFLAGS|CXXFLAGS|LDFLAGS|LDLIBS|OBJS|SRCS|TARGET|PREFIX) *[:?+]?= ",
        makefile=4,
    ),
    mark("ifeq ifneq ifdef ifndef", r"\n(?:ifeq|ifneq|ifdef|ifndef) [(\w\"']", makefile=5),
    mark("endif", r"\nendif\b", makefile=2),
    mark("%", r"\n%\.\w+:|: %\.\w+", makefile=6),
    mark("endef", r"\nendef\b", makefile=6),
    mark("define", r"\ndefine \w+", makefile=3),
    mark("@", r"\n\t@\w", makefile=6),
)

MARKS: Final = (*_SQL_MARKS, *_SETTINGS_MARKS, *_RECIPE_MARKS)
