"""What speaks for Python, Ruby, PHP and R."""

from __future__ import annotations

import re
from typing import Final

from flyteplugins_codegen.source.languages.evidence import mark, raw_mark, words

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

_PYTHON_MARKS: Final = (
    mark("def", r"^(?:async )?def \w+\s*\([^\n]*:(?: *#.*| *\.\.\.| pass| return\b.*)?$", python=5),
    mark("def", r"^(?:async )?def \w+\((?:[^)\n]*,)?$", python=3),
    mark("class", r"^class \w+(?:\([^)\n]*\))?:", python=5),
    mark(
        "if elif for while with try except else finally",
        r"^(?:if|elif|for|while|with|try|except|else|finally)\b[^\n{;]*:(?: *#.*)?$",
        python=2.5,
    ),
    mark("from", r"^from \.*[\w.]* import [\w*(]", python=6),
    mark("import", r"^import \w[\w.]*(?:, \w[\w.]*)*$", python=3),
    mark("import", r"^import \w[\w.]* as \w+", python=5),
    mark("print", r"\bprint\(", python=2, swift=0.5, r=0.5),
    mark("print", r"^print (?:\"|'|\w)[^;\n]*$", python=3.5),
    mark("for", r"\bfor \w+(?:, \w+)* in (?!\{|\(\()[^\n;]{0,120}[\])}:]", python=2),
    mark("for", r"[\])}\w] for \w+(?:, \w+)* in \w", python=3),
    mark("True False None", r": (?:True|False|None)\b", python=6, json=-6),
    mark("range", r"\bfor \w+ in range\(", python=4),
    mark("=", r"\n\w+ = [{\[(]$", python=1.5, json=-2),
    mark("lambda", r"\blambda\b[^:\n]*:", python=4),
    mark("is not", r" is (?:not )?None\b| not in |\bif not ", python=2),
    mark("@", r"^@\w[\w.]*(?:\([^\n]*\))?\n[ \t]*(?:@\w|(?:async )?def \w+\(|class \w+[(:])", python=4),
    mark(
        "@", r"\n@(?:property|staticmethod|classmethod|dataclass|pytest|functools|abstractmethod|app\.\w+)\b", python=3
    ),
    mark(
        "Optional Union List Dict Literal Sequence Annotated Callable Tuple list dict tuple",
        r"(?:Optional|Union|List|Dict|Literal|Sequence|Annotated|Callable|Tuple|list|dict|tuple)\[[\w\"'\[.]",
        python=3,
    ),
    mark("->", r"\) -> [\w.\[\], |\"]+:$", python=5),
    mark("self", r"\bself\.\w|\(self[,)]", python=2),
    mark("**", r"[(,] ?\*\*\w", python=3),
    mark("with", r"^(?:async )?with [^\n{]{1,120} as \w+[^\n]*:", python=4),
    mark("try except else finally", r"^(?:try|else|finally|except(?: \w+)?): *\w", python=4),
    mark(":", r"\n\w+: [\w\[\], .|]{1,40} = [^=]", python=3),
    mark("@", r"\n@[a-z]+_\w+", python=3),
    mark("yield", r"\byield from \w", python=4),
    mark("match", r"^match [^\n{:]+:$", python=4),
    mark("assert", r"^assert [^\n;]*$", python=2),
    mark("raise", r"^raise \w+\(", python=3),
    mark("return", r"^return\b[^;{]*$", python=0.7, ruby=0.5, go=0.7, javascript=0.3),
    mark("=", r"\(\w+=[^=]|, ?\w+=[^=]", python=1.2),
    raw_mark('f"', r'\bf"[^"\n]*\{', python=3),
    raw_mark("f'", r"\bf'[^'\n]*\{", python=3),
    mark('"""', r'^"""', python=2),
    mark("%", r"\n%{1,2}(?:matplotlib|timeit|time|load_ext|run|pip|cd|env|autoreload|sql|bash)\b", python=4),
    mark("!", r"\n!(?:pip|ls|python|wget|curl|git|apt|mkdir|cat|unzip|nvidia-smi)\b", python=4),
    mark("[", r"\[(?<=\w\[)[^\]\[\n]{0,60}:[^\]\[\n]{0,60}\]", python=1),
)

_RUBY_MARKS: Final = (
    mark("end", r"^end$", ruby=3.5),
    mark("def", r"^def (?:self\.)?\w+[?!]?(?:[ (][\w ,:=*&\"'\[\]{}]*\)?)?$", ruby=4),
    mark("def", r"^def \w+[?!]?(?:\([^)\n]*\))? = ", ruby=5),
    mark("end", r"; end\b", ruby=4),
    mark("end", r"^(?:if|unless) [^\n]{1,80} then [^\n]{1,80} end$", ruby=4),
    mark("source", r"^source (?:''|\"\")\ngem ", ruby=6),
    mark("puts", r"^puts\b(?! ?=)", ruby=2),
    mark("|", r"(?:\bdo|\{) ?\|[\w, ()]*\|", ruby=5),
    mark(
        "each each_with_index map select reject times upto any collect",
        r"\.(?:each|each_with_index|map|select|reject|times|upto|any|collect)\b (?:do|\{)",
        ruby=3,
    ),
    mark("?", r"\.\w+\?(?=\s|$|\)|&|\.)", ruby=3),
    mark("require require_relative", r"^require(?:_relative)? (?:\"\"|'')$", ruby=5),
    raw_mark("#{", r"\"[^\"\n]*#\{[^}\n]*\}", ruby=4),
    mark("=>", r"[({, ]:\w+ ?=>", ruby=4),
    mark(":", r"[(, ]:[a-z]\w*(?:[,)\]\s]|$)", ruby=1.2),
    mark("@", r"\n[ \t]*@{1,2}[a-z]\w* (?:=|\|\|=|\+=|<<) |[ (\[]@{1,2}[a-z]\w*(?:$|[.,)\] ])", ruby=3),
    mark("module", r"^module [A-Z]\w*(?:::\w+)*$", ruby=4),
    mark("class", r"^class [A-Z]\w*(?: < [A-Z][\w:]*)?$", ruby=4),
    mark("<<", r"^class << self$", ruby=6),
    mark("gem", r"^gem (?:''|\"\")", ruby=6),
    raw_mark("://", r"\nsource ['\"]https?://", ruby=8),
    mark(":", r"^\w+ \w+: :\w+", ruby=4),
    mark("%", r"%[wi][\[({]", ruby=6),
    mark("&:", r"\(&:\w+", ruby=6),
    mark("p", r"\np [\[\w\"':]", ruby=2.5),
    mark("&.", r"\w&\.\w", ruby=4),
    mark("unless", r"(?:^|\s)unless [^\n{(]*$", ruby=2),
    mark("elsif", r"^elsif [^\n({]+$", ruby=2),
    mark("when", r"^when [^\n{>]*$", ruby=2.5),
    mark("do", r"\w[)\]]? do$", ruby=2.5),
    mark("yield", r"^yield(?: \w| ?\(|$)", ruby=0.7, python=0.7),
    mark("||=", r"\w \|\|= ", ruby=4, javascript=1),
    mark(
        "nil? empty? to_s to_i to_sym to_a inspect freeze upcase downcase first new chomp",
        r"\.(?:nil\?|empty\?|to_s|to_i|to_sym|to_a|inspect|freeze|upcase|downcase|first|new|chomp)(?![\w(])",
        ruby=2,
    ),
    mark("File", r"\bFile\.(?:read|open|write|exist\?|join)\b", ruby=2),
)

_PHP_MARKS: Final = (
    mark("$", r"^\$\w+(?:\[[^\]\n]*\])? ?[.+]?= ?[^=\n][^\n]*;(?: *//.*)?$", php=3.5),
    mark("->", r"\$\w+->\w", php=5),
    mark("$this", r"\$this\b", php=5),
    mark("echo", r"^echo [^\n]*;[ \t]*$", php=3),
    mark("foreach", r"\bforeach ?\(\$[\w>-]+ as \$", php=8),
    mark("function", r"\bfunction \w*\s*\([^()$\n]*\$\w", php=6),
    mark("function", r"\b(?:public|private|protected)(?: static)? function \w", php=8),
    mark("public private protected", r"^(?:public|private|protected)(?: readonly)?(?: \??\w+)? \$\w+", php=6),
    mark("::", r"::(?:\$?\w+\(|class\b)", php=1.5),
    mark("use namespace", r"\n(?:use|namespace) [A-Z]\w*(?:\\\w+)+(?: as \w+)?;", php=8),
    mark("namespace", r"^namespace \w+(?:\\\w+)+ ?[{;]", php=8),
    mark("class", r"\b[A-Z]\w+::class\b", php=4),
    mark("=>", r"(?:''|\"\"|\$\w+) => ", php=2.5, ruby=1),
    mark("$_", r"\$_(?:GET|POST|SERVER|SESSION|REQUEST|FILES|COOKIE)\b", php=8),
    mark("fn", r"\bfn\(\$", php=6),
    mark("($", r"(?:empty|isset|count|is_\w+|in_array|unset)\(\$\w", php=4),
    mark(")->", r"\)->\w+\(", php=2),
    mark("Route", r"\bRoute::\w+\(", php=4),
    mark("if while elseif for", r"(?:if|while|for) ?\(!?\$\w", php=2, powershell=1.5),
    mark("$", r"\$\w+ (?:===?|!==?|<=?|>=?|&&|\|\|) ", php=2.5),
    mark(
        "$",
        r"\b(?:array_\w+|str_\w+|json_encode|json_decode|strlen|count|file_get_contents|mb_\w+|date)\([^)\n]*\$",
        php=3,
    ),
    mark("$", r"\$\w+(?:\[[^\]\n]*\])? ?\. ?(?:\"\"|''|\$)|(?:\"\"|'') ?\. ?\$", php=4),
    mark(
        "require require_once include include_once",
        r"^(?:require|include)(?:_once)?\b ?\(?(?:__DIR__|''|\"\")[^\n]*;",
        php=5,
    ),
    mark("return", r"\breturn \$\w+;", php=4),
    raw_mark("@param", r"\* @param +[\w\\|\[\]]+ +\$\w", php=5),
)

_R_MARKS: Final = (
    mark("<-", r"^[\w.$\[\]\"',]+ <- ", r=5),
    mark("library", r"^library\(\w+\)", r=6),
    mark("%>%", r"%>%", r=8),
    mark("<-", r"<- function\(", r=6),
    mark("c", r"(?<![\w.])c\((?:\"\"|-?\d|'')", r=3),
    mark("~", r"\w ~ \w", r=3),
    mark(
        "frame csv packages aes ggplot sapply lapply paste0 seed",
        r"\b(?:data\.frame|read\.csv|install\.packages|aes|ggplot|sapply|lapply|paste0|set\.seed)\(",
        r=4,
    ),
    mark("|>", r"\|>[ \t]*\n", r=3),
    mark("TRUE FALSE", r"= ?(?:TRUE|FALSE)\b[,)]", r=3),
    mark("function", r"\bfunction\(\w+(?:, ?\w+)*\) [\w(]", r=3),
)

_SCRIPT_MARKS: Final = (*_PYTHON_MARKS, *_RUBY_MARKS, *_PHP_MARKS, *_R_MARKS)


# What speaks for the shells beyond their commands: the syntax of sh and bash, PowerShell's cmdlets and operators.

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

_POWER_SHELL_MARKS: Final = (
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

_SHELL_MARKS: Final = (*_SH_MARKS, *_POWER_SHELL_MARKS)

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


WORDS: Final = _SCRIPT_WORDS
MARKS: Final = (*_SCRIPT_MARKS, *_SHELL_MARKS)
