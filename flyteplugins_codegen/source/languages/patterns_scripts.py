"""Words and patterns of Python, Ruby, PHP and R, of sh and bash beside their commands, and of PowerShell."""

from __future__ import annotations

import re
from typing import Final

from flyteplugins_codegen.source.languages.evidence import pattern, raw_pattern, words

_SCRIPT_WORDS: Final = (
    # Python
    words("elif nonlocal __init__ __name__ __main__ kwargs asyncio isinstance enumerate defaultdict", python=4),
    words(
        "ValueError TypeError KeyError IndexError RuntimeError FileNotFoundError __file__ __all__ __future__", python=4
    ),
    words("None True False except dataclass", python=2),
    words("def len range zip sorted str int float list dict tuple np pd plt df os sys self pass assert", python=0.7),
    # Ruby
    words("attr_accessor attr_reader attr_writer require_relative has_many belongs_to irb Rails", ruby=4),
    words("validates ActiveRecord ApplicationRecord ApplicationController RSpec StandardError", ruby=4),
    words("puts elsif unless ensure rescue", ruby=2),
    words("nil module begin then gets", ruby=1),
    # PHP
    words("isset array_map array_filter array_merge array_keys print_r var_dump implode explode mysqli", php=3),
    words("PDO Illuminate stdClass str_replace strtolower htmlspecialchars preg_replace preg_match", php=2),
    # R
    words("mtcars tibble sapply lapply rnorm runif", r=3),
    words("library TRUE FALSE NA", r=1),
)

_PYTHON_PATTERNS: Final = (
    pattern("def", r"^(?:async )?def \w+\s*\([^\n]*:(?: *#.*| *\.\.\.| pass| return\b.*)?$", python=5),
    pattern("def", r"^(?:async )?def \w+\((?:[^)\n]*,)?$", python=3),
    pattern("class", r"^class \w+(?:\([^)\n]*\))?:", python=5),
    pattern(
        "if elif for while with try except else finally",
        r"^(?:if|elif|for|while|with|try|except|else|finally)\b[^\n{;]*:(?: *#.*)?$",
        python=2.5,
    ),
    pattern("from", r"^from \.*[\w.]* import [\w*(]", python=6),
    pattern("import", r"^import \w[\w.]*(?:, \w[\w.]*)*$", python=3),
    pattern("import", r"^import \w[\w.]* as \w+", python=5),
    pattern("print", r"\bprint\(", python=2, swift=0.5, r=0.5),
    pattern("print", r"^print (?:\"|'|\w)[^;\n]*$", python=3.5),
    pattern("for", r"\bfor \w+(?:, \w+)* in (?!\{|\(\()[^\n;]{0,120}[\])}:]", python=2),
    pattern("for", r"[\])}\w] for \w+(?:, \w+)* in \w", python=3),
    pattern("True False None", r": (?:True|False|None)\b", python=6, json=-6),
    pattern("range", r"\bfor \w+ in range\(", python=4),
    pattern("=", r"\n\w+ = [{\[(]$", python=1.5, json=-2),
    pattern("lambda", r"\blambda\b[^:\n]*:", python=4),
    pattern("is not", r" is (?:not )?None\b| not in |\bif not ", python=2),
    pattern("@", r"^@\w[\w.]*(?:\([^\n]*\))?\n[ \t]*(?:@\w|(?:async )?def \w+\(|class \w+[(:])", python=4),
    pattern(
        "@", r"\n@(?:property|staticmethod|classmethod|dataclass|pytest|functools|abstractmethod|app\.\w+)\b", python=3
    ),
    pattern(
        "Optional Union List Dict Literal Sequence Annotated Callable Tuple list dict tuple",
        r"(?:Optional|Union|List|Dict|Literal|Sequence|Annotated|Callable|Tuple|list|dict|tuple)\[[\w\"'\[.]",
        python=3,
    ),
    pattern("->", r"\) -> [\w.\[\], |\"]+:$", python=5),
    pattern("self", r"\bself\.\w|\(self[,)]", python=2),
    pattern("**", r"[(,] ?\*\*\w", python=3),
    pattern("with", r"^(?:async )?with [^\n{]{1,120} as \w+[^\n]*:", python=4),
    pattern("try except else finally", r"^(?:try|else|finally|except(?: \w+)?): *\w", python=4),
    pattern(":", r"\n\w+: [\w\[\], .|]{1,40} = [^=]", python=3),
    pattern("@", r"\n@[a-z]+_\w+", python=3),
    pattern("yield", r"\byield from \w", python=4),
    pattern("match", r"^match [^\n{:]+:$", python=4),
    pattern("assert", r"^assert [^\n;]*$", python=2),
    pattern("raise", r"^raise \w+\(", python=3),
    pattern("return", r"^return\b[^;{]*$", python=0.7, ruby=0.5, go=0.7, javascript=0.3),
    pattern("=", r"\(\w+=[^=]|, ?\w+=[^=]", python=1.2),
    raw_pattern('f"', r'\bf"[^"\n]*\{', python=3),
    raw_pattern("f'", r"\bf'[^'\n]*\{", python=3),
    pattern('"""', r'^"""', python=2),
    pattern("%", r"\n%{1,2}(?:matplotlib|timeit|time|load_ext|run|pip|cd|env|autoreload|sql|bash)\b", python=4),
    pattern("!", r"\n!(?:pip|ls|python|wget|curl|git|apt|mkdir|cat|unzip|nvidia-smi)\b", python=4),
    pattern("[", r"\[(?<=\w\[)[^\]\[\n]{0,60}:[^\]\[\n]{0,60}\]", python=1),
)

_RUBY_PATTERNS: Final = (
    pattern("end", r"^end$", ruby=3.5),
    pattern("def", r"^def (?:self\.)?\w+[?!]?(?:[ (][\w ,:=*&\"'\[\]{}]*\)?)?$", ruby=4),
    pattern("def", r"^def \w+[?!]?(?:\([^)\n]*\))? = ", ruby=5),
    pattern("end", r"; end\b", ruby=4),
    pattern("end", r"^(?:if|unless) [^\n]{1,80} then [^\n]{1,80} end$", ruby=4),
    pattern("source", r"^source (?:''|\"\")\ngem ", ruby=6),
    pattern("puts", r"^puts\b(?! ?=)", ruby=2),
    pattern("|", r"(?:\bdo|\{) ?\|[\w, ()]*\|", ruby=5),
    pattern(
        "each each_with_index map select reject times upto any collect",
        r"\.(?:each|each_with_index|map|select|reject|times|upto|any|collect)\b (?:do|\{)",
        ruby=3,
    ),
    pattern("?", r"\.\w+\?(?=\s|$|\)|&|\.)", ruby=3),
    pattern("require require_relative", r"^require(?:_relative)? (?:\"\"|'')$", ruby=5),
    raw_pattern("#{", r"\"[^\"\n]*#\{[^}\n]*\}", ruby=4),
    pattern("=>", r"[({, ]:\w+ ?=>", ruby=4),
    pattern(":", r"[(, ]:[a-z]\w*(?:[,)\]\s]|$)", ruby=1.2),
    pattern("@", r"\n[ \t]*@{1,2}[a-z]\w* (?:=|\|\|=|\+=|<<) |[ (\[]@{1,2}[a-z]\w*(?:$|[.,)\] ])", ruby=3),
    pattern("module", r"^module [A-Z]\w*(?:::\w+)*$", ruby=4),
    pattern("class", r"^class [A-Z]\w*(?: < [A-Z][\w:]*)?$", ruby=4),
    pattern("<<", r"^class << self$", ruby=6),
    pattern("gem", r"^gem (?:''|\"\")", ruby=6),
    raw_pattern("://", r"\nsource ['\"]https?://", ruby=8),
    pattern(":", r"^\w+ \w+: :\w+", ruby=4),
    pattern("%", r"%[wi][\[({]", ruby=6),
    pattern("&:", r"\(&:\w+", ruby=6),
    pattern("p", r"\np [\[\w\"':]", ruby=2.5),
    pattern("&.", r"\w&\.\w", ruby=4),
    pattern("unless", r"(?:^|\s)unless [^\n{(]*$", ruby=2),
    pattern("elsif", r"^elsif [^\n({]+$", ruby=2),
    pattern("when", r"^when [^\n{>]*$", ruby=2.5),
    pattern("do", r"\w[)\]]? do$", ruby=2.5),
    pattern("yield", r"^yield(?: \w| ?\(|$)", ruby=0.7, python=0.7),
    pattern("||=", r"\w \|\|= ", ruby=4, javascript=1),
    pattern(
        "nil? empty? to_s to_i to_sym to_a inspect freeze upcase downcase first new chomp",
        r"\.(?:nil\?|empty\?|to_s|to_i|to_sym|to_a|inspect|freeze|upcase|downcase|first|new|chomp)(?![\w(])",
        ruby=2,
    ),
    pattern("File", r"\bFile\.(?:read|open|write|exist\?|join)\b", ruby=2),
)

_PHP_PATTERNS: Final = (
    pattern("$", r"^\$\w+(?:\[[^\]\n]*\])? ?[.+]?= ?[^=\n][^\n]*;(?: *//.*)?$", php=3.5),
    pattern("->", r"\$\w+->\w", php=5),
    pattern("$this", r"\$this\b", php=5),
    pattern("echo", r"^echo [^\n]*;[ \t]*$", php=3),
    pattern("foreach", r"\bforeach ?\(\$[\w>-]+ as \$", php=8),
    pattern("function", r"\bfunction \w*\s*\([^()$\n]*\$\w", php=6),
    pattern("function", r"\b(?:public|private|protected)(?: static)? function \w", php=8),
    pattern("public private protected", r"^(?:public|private|protected)(?: readonly)?(?: \??\w+)? \$\w+", php=6),
    pattern("::", r"::(?:\$?\w+\(|class\b)", php=1.5),
    pattern("use namespace", r"\n(?:use|namespace) [A-Z]\w*(?:\\\w+)+(?: as \w+)?;", php=8),
    pattern("namespace", r"^namespace \w+(?:\\\w+)+ ?[{;]", php=8),
    pattern("class", r"\b[A-Z]\w+::class\b", php=4),
    pattern("=>", r"(?:''|\"\"|\$\w+) => ", php=2.5, ruby=1),
    pattern("$_", r"\$_(?:GET|POST|SERVER|SESSION|REQUEST|FILES|COOKIE)\b", php=8),
    pattern("fn", r"\bfn\(\$", php=6),
    pattern("($", r"(?:empty|isset|count|is_\w+|in_array|unset)\(\$\w", php=4),
    pattern(")->", r"\)->\w+\(", php=2),
    pattern("Route", r"\bRoute::\w+\(", php=4),
    pattern("if while elseif for", r"(?:if|while|for) ?\(!?\$\w", php=2, powershell=1.5),
    pattern("$", r"\$\w+ (?:===?|!==?|<=?|>=?|&&|\|\|) ", php=2.5),
    pattern(
        "$",
        r"\b(?:array_\w+|str_\w+|json_encode|json_decode|strlen|count|file_get_contents|mb_\w+|date)\([^)\n]*\$",
        php=3,
    ),
    pattern("$", r"\$\w+(?:\[[^\]\n]*\])? ?\. ?(?:\"\"|''|\$)|(?:\"\"|'') ?\. ?\$", php=4),
    pattern(
        "require require_once include include_once",
        r"^(?:require|include)(?:_once)?\b ?\(?(?:__DIR__|''|\"\")[^\n]*;",
        php=5,
    ),
    pattern("return", r"\breturn \$\w+;", php=4),
    raw_pattern("@param", r"\* @param +[\w\\|\[\]]+ +\$\w", php=5),
)

_R_PATTERNS: Final = (
    pattern("<-", r"^[\w.$\[\]\"',]+ <- ", r=5),
    pattern("library", r"^library\(\w+\)", r=6),
    pattern("%>%", r"%>%", r=8),
    pattern("<-", r"<- function\(", r=6),
    pattern("c", r"(?<![\w.])c\((?:\"\"|-?\d|'')", r=3),
    pattern("~", r"\w ~ \w", r=3),
    pattern(
        "frame csv packages aes ggplot sapply lapply paste0 seed",
        r"\b(?:data\.frame|read\.csv|install\.packages|aes|ggplot|sapply|lapply|paste0|set\.seed)\(",
        r=4,
    ),
    pattern("|>", r"\|>[ \t]*\n", r=3),
    pattern("TRUE FALSE", r"= ?(?:TRUE|FALSE)\b[,)]", r=3),
    pattern("function", r"\bfunction\(\w+(?:, ?\w+)*\) [\w(]", r=3),
)

_SCRIPT_PATTERNS: Final = (*_PYTHON_PATTERNS, *_RUBY_PATTERNS, *_PHP_PATTERNS, *_R_PATTERNS)


_SH_PATTERNS: Final = (
    pattern("if elif", r"^(?:el)?if (?:!? ?\[{1,2} |!? ?test |!? ?command |!? ?grep )", sh=5),
    pattern("then", r"[\n;][ \t]*then\b", sh=4),
    pattern("fi", r"[\n;][ \t]*fi\b", sh=4),
    pattern("done do", r"[\n;][ \t]*done\b|; do\b", sh=4),
    pattern("for", r"^for \w+ in [^\n:]*(?:;|\n[ \t]*do\b)", sh=3),
    pattern("esac", r"\besac\b", sh=6),
    pattern(";;", r";;[ \t]*$", sh=4),
    pattern("while", r"^while (?:read|IFS=|true;|:;|\[|!|getopts)", sh=5),
    raw_pattern("$", r"\"\$\{?[\w@#*!?]", sh=2, php=0.7, powershell=0.7),
    raw_pattern("$(", r"[=\" ]\$\([a-z]", sh=3),
    raw_pattern("${", r"\$\{[\w#!@]+(?:[:%#/^,-][^}\n]*)?\}", sh=2),
    pattern("$", r"[\n \"=/]\$(?:[1-9@#*?!](?![\d.,])|[A-Z_]{2,}\b)", sh=2),
    pattern(">", r">>? ?(?:/dev/null|&\d|[\w.-]+\.(?:txt|log|json|csv|md|out|sh|html|yaml|py)\b)", sh=3),
    pattern("<<", r"<<-?[ ]?['\"]?[A-Z]{3,}", sh=4, php=-2),
    pattern(
        "|",
        r"\w\)? \| (?:grep|awk|sed|sort|uniq|head|tail|wc|xargs|jq|tee|cut|less|more|bash|sh|tr|cat|python3?|"
        r"base64|column)\b",
        sh=5,
    ),
    pattern("&&", r"\w[\"'/]? && (?:\w|\./)", sh=1),
    pattern("\\", r" \\$", sh=1.5, dockerfile=0.5),
    pattern("()", r"^[\w-]+ ?\(\) ?\{[ \t]*$", sh=4),
    pattern("=", r"^(?:export |local |readonly )?[A-Z_][A-Z0-9_]*=(?:\S|$)", sh=2.5),
    pattern("=", r"^[a-z_]\w*=(?:\$|\"\"|''|\S+$)", sh=1),
    pattern("--", r"\n[a-z][\w.-]*(?: [\w./:@-]+)* --[a-z][\w-]*(?:[ =]|$)", sh=3),
    pattern("-", r"\n[a-z][\w.-]*(?: [\w./:@-]+)* -[a-zA-Z]{1,4}(?: |$)", sh=2.5),
    pattern("/", r"\n[\w.-]+(?:/[\w.-]+)+ --?[a-z]", sh=4),
    pattern("/", r"\n(?:~|\.{1,2})?/\w[\w./-]* [\w./~$-]", sh=3.5),
    pattern("./", r"^\.{1,2}/[\w./-]+(?: |$)", sh=5),
    pattern("~/", r"\s~/[\w.]", sh=1.5),
    pattern(".", r"\n\. [\w.~$]*/[\w./-]+[ \t]*(?:$|[&;#])", sh=5),
    pattern("`", r"=`[^`\n]+`", sh=3),
    pattern("function", r"^function [\w-]+ ?(?:\(\) ?)?\{[ \t]*$", sh=3, powershell=1),
    pattern("function", r"^function \w+ \{ ", sh=4),
    pattern("()", r"^[\w-]+ ?\(\) ?\{ [^\n]*; ?\}", sh=4),
    pattern("((", r"\(\([^()\n]*(?:\+\+|--|[-+*/]=|[<>])[^()\n]*\)\)", sh=2.5),
    pattern("local", r"^local \w+(?:=|$)", sh=4),
    pattern("declare", r"^declare -[aAirx]", sh=6),
    pattern("[", r"^\[{1,2} [^\n\]]* \]{1,2} (?:&&|\|\|) ", sh=5),
    pattern("[[", r"\[\[ ", sh=4),
    pattern("((", r"\(\([^()\n]*\)\)", sh=1.5),
    pattern("=(", r"^\w+=\(", sh=4),
    pattern("{", r"\{\d+\.\.\d+\}", sh=4),
    pattern("<( <<<", r"< ?<\(|<<<", sh=5),
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

_POWER_SHELL_PATTERNS: Final = (
    pattern(_VERBS, rf"{_VERB}-[A-Z][A-Za-z]+\b", powershell=8),
    raw_pattern("$env: $Env:", r"\$[Ee]nv:\w+", powershell=10),
    pattern("$", r"^(?:\[\w+(?:\[\])?\])?\$\w+ ?[+-]?= ?[^;\n]*$", powershell=4),
    pattern("$null $true $false", r"\$(?:null|true|false)\b", powershell=4),
    pattern("$_", r"\$_(?!\w)", powershell=4),
    pattern(
        "-",
        r" -(?:eq|ne|gt|lt|ge|le|like|notlike|match|notmatch|contains|and|or|not|join|split|replace|in|is|"
        r"as)\b",
        powershell=2.5,
    ),
    pattern("-", r" -(?!W)[A-Z][a-z][A-Za-z]+(?=\s)", powershell=2.5),
    pattern("|", r"\| ?(?:[%?] ?\{|(?:select|where|foreach|sort|ft|fl|iex|measure|out-\w+)\b)", powershell=4),
    pattern("param Param", r"^[Pp]aram ?\(", powershell=5),
    pattern("[", r"\[(?:CmdletBinding|Parameter)\b", powershell=9),
    pattern(']:: ]$ ]@ ]"', rf"\[(?<!\w\[){_CASTS}(?:\[\])?\](?:\$|::|@|\"\")", powershell=6),
    pattern("@", r"= @[({]|@\{ ?\w+ ?=", powershell=5),
    pattern("foreach ForEach Foreach", r"\b[Ff]or[Ee]ach ?\(\$\w+ in ", powershell=8),
    pattern("function Function", r"^[Ff]unction [A-Z]\w+-\w+", powershell=8),
    pattern("ps1", r"\.ps1\b", powershell=5),
    pattern(".\\", r"\s\.{1,2}\\[\w.]", powershell=7),
    pattern(
        "PSVersionTable PSScriptRoot PSCommandPath", r"\$PS(?:VersionTable|ScriptRoot|CommandPath)\b", powershell=7
    ),
    pattern(":\\", r"\n(?:cd|dir|copy|del|md|rd|type|move) [A-Z]:\\", powershell=6),
    pattern(":\\", r"\b[A-Z]:\\", powershell=1.5),
    pattern("%", r"%\w+%\\", powershell=3),
    pattern("`", r" `$", powershell=3),
    pattern("catch", r"\bcatch ?\{", powershell=1, javascript=0.7, swift=0.7),
    pattern("elseif", r"\belseif ?\(\$", powershell=2, php=2),
    pattern("if", r"\bif ?\((?:-not |!?\(?[A-Z][a-z]+-[A-Z])", powershell=5),
    pattern(
        "choco winget scoop wsl",
        r"\n(?:(?:choco|winget|scoop) (?:install|upgrade|search|uninstall|list) |wsl --)",
        powershell=7,
    ),
    pattern("iwr irm iex gci gcm gc saps ni", r"\n(?:iwr|irm|iex|gci|gcm|gc|saps|ni) [^=\n]+$", powershell=6),
    pattern("powershell pwsh", r"\n(?:powershell|pwsh)(?:\.exe)? -", powershell=6),
)

_SHELL_PATTERNS: Final = (*_SH_PATTERNS, *_POWER_SHELL_PATTERNS)

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
    """Whether a shell script uses features of bash that a plain sh, such as Debian's dash, lacks."""
    return bool(_BASH_ONLY.search(text.replace("$((", "")))


WORDS: Final = _SCRIPT_WORDS
PATTERNS: Final = (*_SCRIPT_PATTERNS, *_SHELL_PATTERNS)
