"""What speaks for the shells beyond their commands: the syntax of sh and bash, PowerShell's cmdlets and operators."""

from __future__ import annotations

import re
from typing import Final

from flyteplugins_codegen.source.inference.evidence import mark, raw_mark

_SH_MARKS: Final = (
    mark("if elif", r"^(?:el)?if (?:!? ?\[{1,2} |!? ?test |!? ?command |!? ?grep )", sh=5),
    mark("then", r"[\n;][ \t]*then\b", sh=4),
    mark("fi", r"[\n;][ \t]*fi\b", sh=4),
    mark("done do", r"[\n;][ \t]*done\b|; do\b", sh=4),
    mark("for", r"^for \w+ in [^\n:]*(?:;|\n[ \t]*do\b)", sh=3),
    mark("esac", r"\besac\b", sh=6),
    mark(";;", r";;[ \t]*$", sh=4),
    mark("while", r"^while (?:read|IFS=|true;|:;|\[|!|getopts)", sh=5),
    raw_mark("$", r"\"\$\{?[\w@#*!?]", sh=2, php=0.7, powershell=0.7),
    raw_mark("$(", r"[=\" ]\$\([a-z]", sh=3),
    raw_mark("${", r"\$\{[\w#!@]+(?:[:%#/^,-][^}\n]*)?\}", sh=2),
    mark("$", r"[\n \"=/]\$(?:[1-9@#*?!](?![\d.,])|[A-Z_]{2,}\b)", sh=2),
    mark(">", r">>? ?(?:/dev/null|&\d|[\w.-]+\.(?:txt|log|json|csv|md|out|sh|html|yaml|py)\b)", sh=3),
    mark("<<", r"<<-?[ ]?['\"]?[A-Z]{3,}", sh=4, php=-2),
    mark(
        "|",
        r"\w\)? \| (?:grep|awk|sed|sort|uniq|head|tail|wc|xargs|jq|tee|cut|less|more|bash|sh|tr|cat|python3?|"
        r"base64|column)\b",
        sh=5,
    ),
    mark("&&", r"\w[\"'/]? && (?:\w|\./)", sh=1),
    mark("\\", r" \\$", sh=1.5, dockerfile=0.5),
    mark("()", r"^[\w-]+ ?\(\) ?\{[ \t]*$", sh=4),
    mark("=", r"^(?:export |local |readonly )?[A-Z_][A-Z0-9_]*=(?:\S|$)", sh=2.5),
    mark("=", r"^[a-z_]\w*=(?:\$|\"\"|''|\S+$)", sh=1),
    mark("--", r"\n[a-z][\w.-]*(?: [\w./:@-]+)* --[a-z][\w-]*(?:[ =]|$)", sh=3),
    mark("-", r"\n[a-z][\w.-]*(?: [\w./:@-]+)* -[a-zA-Z]{1,4}(?: |$)", sh=2.5),
    mark("/", r"\n[\w.-]+(?:/[\w.-]+)+ --?[a-z]", sh=4),
    mark("/", r"\n(?:~|\.{1,2})?/\w[\w./-]* [\w./~$-]", sh=3.5),
    mark("./", r"^\.{1,2}/[\w./-]+(?: |$)", sh=5),
    mark("~/", r"\s~/[\w.]", sh=1.5),
    mark(".", r"\n\. [\w.~$]*/[\w./-]+[ \t]*(?:$|[&;#])", sh=5),
    mark("`", r"=`[^`\n]+`", sh=3),
    mark("function", r"^function [\w-]+ ?(?:\(\) ?)?\{[ \t]*$", sh=3, powershell=1),
    mark("function", r"^function \w+ \{ ", sh=4),
    mark("()", r"^[\w-]+ ?\(\) ?\{ [^\n]*; ?\}", sh=4),
    mark("((", r"\(\([^()\n]*(?:\+\+|--|[-+*/]=|[<>])[^()\n]*\)\)", sh=2.5),
    mark("local", r"^local \w+(?:=|$)", sh=4),
    mark("declare", r"^declare -[aAirx]", sh=6),
    mark("[", r"^\[{1,2} [^\n\]]* \]{1,2} (?:&&|\|\|) ", sh=5),
    mark("[[", r"\[\[ ", sh=4),
    mark("((", r"\(\([^()\n]*\)\)", sh=1.5),
    mark("=(", r"^\w+=\(", sh=4),
    mark("{", r"\{\d+\.\.\d+\}", sh=4),
    mark("<( <<<", r"< ?<\(|<<<", sh=5),
)

_VERB: Final = (
    r"(?:Get|Set|New|Remove|Add|Write|Read|Import|Export|Invoke|Start|Stop|Test|Select|Where|ForEach|Sort|Out|Copy|Move|"
    r"Rename|Convert|ConvertTo|ConvertFrom|Install|Update|Enable|Disable|Measure|Join|Split|Format|Clear|Restart|"
    r"Register|Connect|Compress|Expand|Resolve|Group|Find|Show|Enter|Exit|Push|Pop|Wait|Receive|Save|Send|Unblock|"
    r"Uninstall|Use)"
)
_VERBS: Final = _VERB[3:-1].replace("|", " ")
_CASTS: Final = (
    r"(?:string|int|bool|double|datetime|switch|array|hashtable|pscustomobject|PSCustomObject|xml|System\.[\w.]+|Math|"
    r"math|Environment|Convert|DateTime|guid)"
)

_POWERSHELL_MARKS: Final = (
    mark(_VERBS, rf"{_VERB}-[A-Z][A-Za-z]+\b", powershell=8),
    raw_mark("$env: $Env:", r"\$[Ee]nv:\w+", powershell=10),
    mark("$", r"^(?:\[\w+(?:\[\])?\])?\$\w+ ?[+-]?= ?[^;\n]*$", powershell=4),
    mark("$null $true $false", r"\$(?:null|true|false)\b", powershell=4),
    mark("$_", r"\$_(?!\w)", powershell=4),
    mark(
        "-",
        r" -(?:eq|ne|gt|lt|ge|le|like|notlike|match|notmatch|contains|and|or|not|join|split|replace|in|is|"
        r"as)\b",
        powershell=2.5,
    ),
    mark("-", r" -(?!W)[A-Z][a-z][A-Za-z]+(?=\s)", powershell=2.5),
    mark("|", r"\| ?(?:[%?] ?\{|(?:select|where|foreach|sort|ft|fl|iex|measure|out-\w+)\b)", powershell=4),
    mark("param Param", r"^[Pp]aram ?\(", powershell=5),
    mark("[", r"\[(?:CmdletBinding|Parameter)\b", powershell=9),
    mark(']:: ]$ ]@ ]"', rf"\[(?<!\w\[){_CASTS}(?:\[\])?\](?:\$|::|@|\"\")", powershell=6),
    mark("@", r"= @[({]|@\{ ?\w+ ?=", powershell=5),
    mark("foreach ForEach Foreach", r"\b[Ff]or[Ee]ach ?\(\$\w+ in ", powershell=8),
    mark("function Function", r"^[Ff]unction [A-Z]\w+-\w+", powershell=8),
    mark("ps1", r"\.ps1\b", powershell=5),
    mark(".\\", r"\s\.{1,2}\\[\w.]", powershell=7),
    mark("PSVersionTable PSScriptRoot PSCommandPath", r"\$PS(?:VersionTable|ScriptRoot|CommandPath)\b", powershell=7),
    mark(":\\", r"\n(?:cd|dir|copy|del|md|rd|type|move) [A-Z]:\\", powershell=6),
    mark(":\\", r"\b[A-Z]:\\", powershell=1.5),
    mark("%", r"%\w+%\\", powershell=3),
    mark("`", r" `$", powershell=3),
    mark("catch", r"\bcatch ?\{", powershell=1, javascript=0.7, swift=0.7),
    mark("elseif", r"\belseif ?\(\$", powershell=2, php=2),
    mark("if", r"\bif ?\((?:-not |!?\(?[A-Z][a-z]+-[A-Z])", powershell=5),
    mark(
        "choco winget scoop wsl",
        r"\n(?:(?:choco|winget|scoop) (?:install|upgrade|search|uninstall|list) |wsl --)",
        powershell=7,
    ),
    mark("iwr irm iex gci gcm gc saps ni", r"\n(?:iwr|irm|iex|gci|gcm|gc|saps|ni) [^=\n]+$", powershell=6),
    mark("powershell pwsh", r"\n(?:powershell|pwsh)(?:\.exe)? -", powershell=6),
)

WORDS: Final = ()
MARKS: Final = (*_SH_MARKS, *_POWERSHELL_MARKS)

_BASH_ONLY: Final = re.compile(
    r"\[\[ |\(\(|<\(|<<<|&>|\|&|\$'|"
    r"(?:^[ \t]*|; ?|&& )source |"
    r"^[ \t]*function [\w-]+|"
    r"^[ \t]*(?:declare|shopt|mapfile|readarray|pushd|popd) |"
    r"^[ \t]*read -(?!r )[a-z]|"
    r"^[ \t]*\w+\+?=\(|"
    r"\{\w+\.\.\w+\}|[\w./]\{[\w.]*,[\w.]|"
    r"\$\{\w+(?:\^|,|//?|:\d|@|\[)|\$\{[#!]\w+[\[\}@]|\$RANDOM\b|\$\{?BASH_|"
    r"\bpipefail\b|\becho -e\b",
    re.MULTILINE,
)


def needs_bash(text: str) -> bool:
    """Whether a shell script uses what bash has and a plain sh, such as Debian's dash, has not."""
    return bool(_BASH_ONLY.search(text.replace("$((", "")))
