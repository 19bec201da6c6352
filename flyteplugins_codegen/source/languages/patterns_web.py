"""Words and patterns of JavaScript, TypeScript, CSS, and of HTML that follows other text.

Evidence for JavaScript counts for TypeScript too, so that only what JavaScript lacks is listed under TypeScript.
"""

from __future__ import annotations

from typing import Final

from flyteplugins_codegen.source.languages.evidence import pattern, raw_pattern, words

WORDS: Final = (
    words(
        "console document window undefined useState useEffect addEventListener querySelector globalThis", javascript=3
    ),
    words("typeof instanceof constructor async await export JSON Promise setTimeout const let var fetch", javascript=1),
    words("getElementById innerHTML localStorage parseInt prototype forEach require NaN", javascript=2),
    words("keyof readonly satisfies namespace interface", typescript=0.7),
    words("Partial Readonly ReadonlyArray Injectable HttpClient ReactNode OnInit NextPage", typescript=3),
    words("px rem em vh vw rgba hsl keyframes flexbox", css=1.5),
)

_JAVASCRIPT_PATTERNS: Final = (
    pattern("console", r"\bconsole\.(?:log|error|warn|table|info|debug|time)\(", javascript=5),
    pattern("const", r"\bconst (?:\w+|\{[^{}\n]*\}|\[[^\[\]\n]*\])\s*=(?!=)", javascript=4.5),
    pattern("let", r"\blet (?:\w+|\{[^{}\n]*\}|\[[^\[\]\n]*\]) ?=(?!=)", javascript=2.5, rust=2, swift=2),
    pattern("let", r"\blet \w+;", javascript=2, rust=1),
    pattern("var", r"^(?:for \()?var \w+ ?=", javascript=2.5, csharp=1.5, go=1.2, swift=1, kotlin=1),
    pattern("=>", r"(?:\)|\b\w+) ?=> ?[{(\w\[`\"'!<.-]", javascript=2.5, csharp=1.2),
    pattern("=>", r"\([^()\n]*\) ?=> ?\{", javascript=1.5),
    pattern("===", r"[^=]===[^=]", javascript=4, php=2.5),
    pattern("!==", r"!==", javascript=4, php=2.5),
    pattern("function", r"\bfunction\*? ?\w*\s?\([\w ,={}\[\].\"']*\)\s*\{", javascript=4),
    pattern("module", r"\bmodule\.exports\b", javascript=6),
    pattern("require", r"\brequire\((?:''|\"\"|``)", javascript=3.5),
    pattern("export", r"^export (?:default|const|let|async|function|class|\{|\*)", javascript=6),
    pattern("import", r"^import (?:[\w*{][^\n;]* from |)(?:\"\"|'')", javascript=6),
    pattern("import", r"^import \{$", javascript=4),
    pattern("from", r"\n\} from (?:''|\"\")", javascript=5),
    raw_pattern("`", r"`[^`\n]*\$\{", javascript=4),
    pattern(
        "forEach map filter reduce then catch find some every sort",
        r"\.(?:forEach|map|filter|reduce|then|catch|find|some|every|sort)\((?:\(|function|async|\w+ ?=>)",
        javascript=4,
    ),
    pattern("document", r"\bdocument\.\w+", javascript=2),
    pattern("process", r"\bprocess\.(?:env|argv|exit|stdout|on|cwd)\b", javascript=4),
    pattern("JSON", r"\bJSON\.(?:parse|stringify)\(", javascript=3),
    pattern("$(", r"\$\((?:''|\"\"|document|this|function)", javascript=4),
    pattern("new", r"\bnew (?:Date|Promise|Map|Set|Error|Array|RegExp|URL|WebSocket)\b", javascript=2),
    pattern("async", r"\basync (?:function\b|\([^)\n]*\) ?=>|\w+ ?=>)", javascript=5),
    pattern("...", r"[\[({,] ?\.\.\.\w", javascript=3),
    pattern("className", r"\bclassName=", javascript=4),
    pattern("this", r"\bthis\.\w+ ?=", javascript=1.5, java=1.2, csharp=0.7),
    pattern("if", r"^if \(!?[\w.]+\) (?:return|throw|break|continue)\b", javascript=1.5, java=1.3, c=1.3, csharp=1),
    pattern("null", r"\breturn null;", javascript=1, java=1, csharp=0.8, php=0.5),
    pattern("var", r"^var \w+;?$", javascript=1.5),
    pattern("if while for", r"^(?:if|while|for) \([^\n]*\) ?\{[^\n]*\}$", javascript=2, c=1.9, java=1.9, csharp=1.7),
    pattern("do", r"^do ?\{", javascript=2, c=1.9, java=1.9, csharp=1.7),
    pattern("??=", r"\?\?=", javascript=3, csharp=1.5),
    pattern("delete", r"\bdelete \w+[.\[]", javascript=4),
    pattern("map filter forEach", r"\.(?:map|filter|forEach)\([A-Z]\w*\)", javascript=3),
    pattern("alert confirm prompt", r"(?:alert|confirm|prompt)\((?:\"\"|'')", javascript=3),
    pattern("return", r"^return [^\n]*;$", javascript=2, c=1.9, java=1.9, csharp=1.5, rust=0.5, php=0.4),
    pattern("fetch", r"\bfetch\(", javascript=2),
    pattern("constructor", r"^constructor\(", javascript=4),
    pattern("typeof", r"\btypeof \w", javascript=2),
    pattern("||", r"\|\| (?:\{\}|\[\]|''|\"\")", javascript=2),
    pattern("?.", r"\w\?\.\w", javascript=1.5, csharp=1, kotlin=1.2, swift=1),
    pattern("Math", r"\bMath\.\w+\(", javascript=1.2, java=1, csharp=0.7),
    pattern("Object", r"\bObject\.(?:keys|entries|values|assign|freeze)\(", javascript=5),
    pattern("setTimeout setInterval", r"\bset(?:Timeout|Interval)\(", javascript=4),
    pattern("<", r"(?:return \(?|=> \(?)\s*<\w", javascript=4),
    pattern("={", r"<\w[^<>\n]* \w+=\{", javascript=4),
    pattern("for", r"\bfor \((?:let|const|var) ", javascript=5),
    pattern("//", r"^//", javascript=1, c=0.8, java=0.8, csharp=0.7, go=0.7, rust=0.7, php=0.3, kotlin=0.5, swift=0.5),
    raw_pattern("//", r"// =>", javascript=2),
    pattern("{", r"\A\s*\{\s*(?:[a-z]\w*|''|\"\"): [^\n]+,", javascript=2),
    pattern("(", r"^(?:await )?[\w.]+\([^\n]*\);?$", javascript=0.5),
    pattern(");", r"^(?:await )?[\w.]+\([^\n]*\);$", javascript=1.5, java=1, c=1, csharp=0.8),
    pattern("catch", r"\bcatch \(\w+\) ?\{", javascript=4),
    pattern(
        "if while switch for",
        r"^(?:if|while|switch|for) \([^\n]*\) ?\{$",
        javascript=1.2,
        c=1.1,
        java=1.1,
        csharp=0.9,
        php=0.5,
    ),
    pattern("new", r"= new \\?[A-Z]\w*(?:\\\w+)*(?:\(| *;)", php=0.7, java=1, javascript=0.7, csharp=0.7),
)

_TYPESCRIPT_PATTERNS: Final = (
    pattern(
        "string number boolean any void unknown never null",
        r": ?(?:string|number|boolean|any|void|unknown|never|null)(?:\[\])*\s*[;,)=|{&>\]}]",
        typescript=2.5,
    ),
    pattern(
        "const let var", r"(?:const|let|var) \w+: ?(?!Int\b|String\b|Double\b|Bool\b)[^\n=;]{1,80} ?= ", typescript=3
    ),
    pattern(
        ":",
        r"\((?:[^()\n]*, )?\w+\??: ?(?:string|number|boolean|any|unknown|[A-Z]\w*)(?:\[\]|<[^>\n]*>)?[^()\n]*\)",
        typescript=3,
    ),
    pattern(
        "):",
        r"\): ?(?:Promise<|string|number|boolean|void|any|[A-Z]\w*(?:<[^>\n]*>|\[\])?)[^\n;]*(?:\{|=>|;)",
        typescript=3,
    ),
    pattern("?:", r"\b\w+\?: ?\w", typescript=4),
    pattern("interface", r"^(?:export )?interface \w+[^\n{]*\{\s*(?:readonly )?\w+\??: ?\w", typescript=8),
    pattern("type", r"^(?:export )?(?:declare )?type \w+(?:<[^>\n]*>)? ?= ?", typescript=6, rust=1),
    pattern("as", r"\bas (?:string|number|any|const|unknown|boolean|[A-Z]\w*|\w+\.[\w$]+)\b(?! from)", typescript=2),
    pattern("as", r"\bas [\[{(]", typescript=2.5),
    pattern("import export", r"^(?:import|export) (?:type [\w{*]|\{ ?type )", typescript=8),
    pattern(
        "string number boolean any unknown void", r"<(?<=\w<)(?:string|number|boolean|any|unknown|void)\b", typescript=4
    ),
    pattern("<", r"<(?<=[a-z]<)[A-Z]\w*(?:\[\]| \| \w+){0,3}>\(", typescript=2.5, cpp=1),
    pattern(
        "private public protected readonly static",
        r"^(?:private|public|protected|readonly|static)(?: readonly)? \w+[?!]?: ?\w",
        typescript=5,
    ),
    pattern("private public protected", r"^(?:private|public|protected)(?: async)? \w+\([^)\n]*\): ", typescript=5),
    pattern("constructor", r"constructor\((?:private|public|protected|readonly) ", typescript=8),
    pattern("enum", r"^(?:export )?(?:const )?enum \w+ ?\{", typescript=2, rust=1, java=1, csharp=0.7, c=0.7),
    pattern("enum", r"\benum \w+ \{[^}]*= ?(?:\"\"|'')", typescript=4),
    pattern("declare", r"^declare (?:module|global|const|function|namespace|let|class)\b", typescript=6),
    pattern("abstract", r"^(?:export )?abstract class \w+", typescript=1, java=1.5, csharp=1),
    pattern("@", r"^@(?:Component|Injectable|NgModule|Input|Output|Module)\(", typescript=4, javascript=2),
    pattern("implements", r"\bclass \w+[^{\n]* implements ", typescript=1, java=2, php=1),
    pattern(
        "Promise Record Partial Pick Omit ReadonlyArray Array",
        r"(?:Promise|Record|Partial|Pick|Omit|ReadonlyArray|Array)<",
        typescript=3,
    ),
    pattern("let const var", r"(?:let|const|var) \w+: ?[\[{\w][^=\n;]{0,80};$", typescript=3),
    pattern("keyof extends", r"\bkeyof |\bextends \w+ \? ", typescript=4),
    pattern("[]", r": ?\w+\[\]", typescript=2),
    pattern("!.", r"\w!\.\w", typescript=1),
)

_PROPERTY: Final = (
    r"(?:margin|padding|color|background|display|font|border|width|height|position|top|left|right|bottom|flex|grid|gap|"
    r"text|align|justify|overflow|opacity|transform|transition|animation|z-index|cursor|box|max|min|list|line|content|"
    r"outline|float|visibility|white-space|letter|object|filter|clear|user-select|pointer-events)"
)
_PROPERTIES: Final = _PROPERTY[3:-1].replace("|", " ").replace("-", " ")
_ELEMENT: Final = (
    r"(?:body|html|a|p|h\d|ul|ol|li|div|span|table|td|th|img|input|button|nav|main|header|footer|form|label|section|\*)"
)

_CSS_PATTERNS: Final = (
    pattern(_PROPERTIES, rf"[\n{{;][ \t]*{_PROPERTY}(?:-[a-z]+)*[ \t]*:[ \t]*[^:;{{}}\n]+[;}}]", css=5),
    pattern("{", r"^[.#][\w-]+(?:[ ,:>+~.#\[][^{}\n;=()]*)?\{", css=4),
    pattern("{", rf"^{_ELEMENT}(?:[ ,:>+~.\[][^{{}}\n;=()]*)? ?\{{", css=4),
    pattern(
        "@",
        r"^@(?:media|import url|import (?:\"\"|'')|keyframes|font-face|charset|supports|layer|tailwind|apply|"
        r"include|mixin|use)\b",
        css=5,
    ),
    pattern(
        ":",
        r"::(?:before|after|placeholder|selection)|:(?:hover|focus|root|nth-child|first-child|last-child|not)\b",
        css=4,
    ),
    pattern("--", r"^--[\w-]+: |var\(--", css=5),
    pattern(":#", r":#[0-9a-fA-F]{3,8}\b", css=2),
    pattern("#", r": #[0-9a-fA-F]{3,8}\b", css=2),
    pattern("px rem vh vw", r":[^\n;:]{0,60}\d(?:px|rem|vh|vw)\b", css=2),
    pattern("!important", r"!important", css=5),
    pattern("$", r"^\$[\w-]+: [^\n]*;", css=4),
    pattern("&", r"^&[:.-][\w-]*[^\n]*\{", css=4),
    pattern("[", r"^\w*\[[\w-]+[*^$~|]?=[^\]\n]*\](?:[:\w-]*)? ?\{", css=4),
    # HTML after other text
    pattern(
        "</",
        r"</(?:p|div|li|ul|ol|span|h\d|td|tr|a|b|strong|em|body|html|table|button|script|style|head|title|form)>",
        html=4,
    ),
)

PATTERNS: Final = (*_JAVASCRIPT_PATTERNS, *_TYPESCRIPT_PATTERNS, *_CSS_PATTERNS)
