"""One name for each language, used by `infer_lang`, code blocks and everything that runs or saves code.

Info strings, file names and other spellings of a language are all mapped to the names in `LANGUAGES`. `sh` is any POSIX
shell, `bash` a script that needs bash. A language that is not listed keeps its own name in lower case.
"""

from __future__ import annotations

import re
from typing import Final

from flyteplugins_codegen.errors import RequestError

# Name: file extension, then other spellings, extensions, and file names without their dot.
_SPELLINGS: Final = {
    "python": ("py", "python2 py2 py3 pyi pyw ipython sage pycon pyrepl python-console python-repl python-traceback"),
    "sh": ("sh", "shell shell-script shellscript posix ash dash console shell-session sh-session terminal profile"),
    "bash": ("sh", "zsh ksh bats bash-session bashrc bash_profile zshrc"),
    "powershell": ("ps1", "pwsh ps posh psm1 psd1 powershell-core windows-powershell"),
    "batch": ("bat", "cmd batchfile dosbatch winbatch dos"),
    "javascript": ("js", "jsx mjs cjs es6 ecmascript node nodejs javascriptreact"),
    "typescript": ("ts", "tsx mts cts typescriptreact deno"),
    "html": ("html", "htm xhtml html5 vue svelte"),
    "css": ("css", "css3 scss sass less"),
    "json": ("json", "jsonc json5 jsonl ndjson geojson ipynb webmanifest"),
    "yaml": ("yaml", "yml"),
    "toml": ("toml", ""),
    "ini": ("ini", "cfg conf dosini properties editorconfig gitconfig"),
    "xml": ("xml", "xsd xsl xslt svg rss atom plist csproj pom"),
    "sql": ("sql", "mysql postgres postgresql psql plsql plpgsql pgsql tsql t-sql sqlite sqlite3 mariadb bigquery ddl"),
    "c": ("c", "h"),
    "cpp": ("cpp", "c++ cplusplus cxx cc hpp hxx hh h++"),
    "csharp": ("cs", "c# c-sharp csx dotnet"),
    "rust": ("rs", ""),
    "go": ("go", "golang"),
    "java": ("java", "jsh"),
    "kotlin": ("kt", "kts"),
    "swift": ("swift", ""),
    "ruby": ("rb", "irb jruby rake rakefile gemfile gemspec"),
    "perl": ("pl", "pm"),
    "lua": ("lua", ""),
    "r": ("r", "rlang rscript splus"),
    "php": ("php", "php3 php4 php5 php7 php8 phtml"),
    "dockerfile": ("dockerfile", "docker containerfile"),
    "makefile": ("mk", "make mak gnumakefile gmake bsdmake"),
    "diff": ("diff", "patch udiff unified-diff git-diff"),
    "markdown": ("md", "mdown mkd mdx"),
    "csv": ("csv", ""),
    "text": ("txt", "plain plaintext plain-text none nohighlight no-highlight raw"),
}
_WHOLE_NAMES: Final = {"dockerfile": "Dockerfile", "makefile": "Makefile"}
_NAMES: Final = {
    spelling: language
    for language, (extension, others) in _SPELLINGS.items()
    for spelling in (extension, *others.split(), language)  # `bash` writes `.sh` files, yet `sh` stays the name of `sh`
    if spelling not in _SPELLINGS or spelling == language
}
# Versions are not part of the name: `python3.12`, `Python 3`, `c++17`.
_VERSION: Final = re.compile(r"(?<=[a-z+#])[ -]?[0-9][0-9.]{0,7}$")
_LONGEST_NAME: Final = 60

LANGUAGES: Final = tuple(_SPELLINGS)
"""The names of the known languages; `text` is text that is not code."""


def language_of(name: str) -> str:
    """The name of a language for any spelling of it: `py`, `Python3`, ` .PY ` and `language-python` are `python`.

    An unknown name is returned trimmed and in lower case, an empty one as "".

    Raises:
        RequestError: `name` is not a str.
    """
    spelling = _text(name, "the name of a language").strip().strip("{}").strip().lstrip(".").lower()
    spelling = spelling.removeprefix("language-").removeprefix("lang-")
    if spelling in _NAMES or len(spelling) > _LONGEST_NAME:
        return _NAMES.get(spelling, spelling)
    unversioned = _VERSION.sub("", spelling)
    return _NAMES.get(unversioned) or _NAMES.get(unversioned.replace(" ", "-")) or spelling


def language_of_file(path: str) -> str:
    """The language of a file by its name: `python` for `src/x.py`, `dockerfile` for `Dockerfile`; "" if unknown.

    Raises:
        RequestError: `path` is not a str.
    """
    name = re.split(r"[/\\]", _text(path, "the name of a file").strip().lower())[-1]
    if "." not in name:
        return _NAMES.get(name, "") if name.endswith("file") else ""  # `Gemfile`, not `make`
    first, last = name.partition(".")[0], name.rpartition(".")[2]
    return first if first in _WHOLE_NAMES else _NAMES.get(last, "")  # `Dockerfile.dev`


def file_name_for(language: str, stem: str) -> str:
    """A file name for a language: `solution.py` for `python`, `Makefile` for `makefile`, `x.txt` for an unknown one.

    Raises:
        RequestError: `language` is not a str.
    """
    known = language_of(language)
    if known in _WHOLE_NAMES:
        return _WHOLE_NAMES[known]
    return f"{stem}.{_SPELLINGS[known][0] if known in _SPELLINGS else 'txt'}"


def _text(value: str, what: str) -> str:
    if not isinstance(value, str):
        raise RequestError(f"{what} is to be a str, not {type(value).__name__}; pass text")
    return value
