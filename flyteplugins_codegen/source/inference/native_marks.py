"""What speaks for C, C++ and Rust. C++ inherits all that speaks for C."""

from __future__ import annotations

from typing import Final

from flyteplugins_codegen.source.inference.evidence import mark, raw_mark, words

WORDS: Final = (
    words(
        "malloc calloc realloc sizeof strlen strcpy strcmp memcpy memset printf fprintf scanf NULL perror free", c=2.5
    ),
    words("typedef unsigned size_t uint8_t uint32_t int32_t uint64_t int64_t fopen fgets stdin stdout stderr", c=2.5),
    words("struct extern volatile char goto switch void", c=0.7),
    words("cout cin endl nullptr constexpr decltype static_cast dynamic_cast unordered_map push_back", cpp=4),
    words("unique_ptr shared_ptr make_unique make_shared emplace_back noexcept typename iostream ostream", cpp=4),
    words("template virtual friend delete vector operator", cpp=1.5),
    words("impl mut usize i32 i64 u32 u64 u8 f64 f32 Vec HashMap unwrap println", rust=2.5),
    words("fn pub crate dyn Some Ok Err mod trait", rust=1.2),
)

_BASE: Final = r"(?:int|char|float|double|long|short|void|bool|size_t|u?int\d+_t|FILE)"
_TYPE: Final = rf"(?:unsigned |signed |const |static |long ){{0,3}}{_BASE}"
_TYPES: Final = (
    "int char float double long short void bool size_t uint8_t uint16_t uint32_t uint64_t int32_t int64_t FILE"
)

_C_MARKS: Final = (
    mark("#include", r"^# ?include\s*(?:<[\w/.]+\.h>|\"\")", c=6),
    mark("#", r"^# ?(?:define \w|ifndef \w|ifdef \w|endif\b|pragma |undef |if |elif |else\b|error )", c=5),
    mark(_TYPES, rf"^{_TYPE}[ *]+\**\w+(?:\[\w*\])*\s*(?:=[^=]|;|,)", c=3, java=1.5, csharp=1.5),
    mark(_TYPES, rf"^{_TYPE}[ *]+\w+\([^)\n;]*\)\s*(?:\{{|;|$)", c=4, java=1, csharp=1),
    mark(_TYPES, rf"[\s(,<]{_BASE} ?\*", c=2.5),
    mark("*", r" \*\w+(?: =|[;,)])", c=1.5),
    mark("main", r"\bint main\(", c=4),
    mark("printf fprintf sprintf snprintf", r"(?<![\w.])(?:f|s|sn)?printf\(", c=2, php=0.7),
    mark("->", r"->(?<=\w->)\w", c=2.5),
    mark("struct", r"\bstruct \w+ ?(?:\{|\*|\w+[;, =\[])", c=2.5, rust=1, swift=0.7, go=-1),
    mark("typedef", r"^typedef ", c=5),
    mark("for", r"\bfor ?\(int \w+ ?=", c=3, java=2, csharp=1.5),
    mark(_TYPES, rf"[\s(,<]{_BASE} \w+\[\w*\]", c=3),
    mark("&", r"[(, =]&\w+[,)\[;.]", c=1.5, rust=0.7, go=0.5),
    mark("return", r"\breturn (?:-?[01]|EXIT_\w+);", c=1.5),
    mark("extern", r"^extern \w", c=3),
    mark("enum", r"^enum(?: \w+)? ?\{", c=1.5),
    mark("enum", r"^enum ?\{", c=1.5),
    raw_mark("%", r"printf\(\"[^\"\n]*%[-.\d]*(?:d|s|f|c|lu|ld|zu|x|p)", c=2),
    mark("while if", r"(?:while|if) ?\(\(\w+ = ", c=3, java=1),
)

_CPP_MARKS: Final = (
    mark("std", r"\bstd::\w", cpp=6, rust=-2),
    mark("#include", r"^# ?include\s*<[\w/+]+(?:\.hpp|\.h\+\+)?>", cpp=6),
    mark("<<", r"(?:cout|cerr|os|out|ss|std::\w+)\s*<<|<< ?(?:endl|std::endl)", cpp=4),
    mark(">>", r"\bcin\s*>>", cpp=4),
    mark("using", r"^using namespace \w+;", cpp=8),
    mark("using", r"^using \w+ = [^\n]*[>*&\w];", cpp=3),
    mark("template", r"^template ?<", cpp=6),
    mark("public private protected", r"^(?:public|private|protected):", cpp=6),
    mark("class struct", r"^(?:class|struct) \w+(?: final)? : (?:public|private|protected) \w", cpp=8),
    mark("~", r"~\w+\(\)", cpp=5),
    mark("virtual", r"\bvirtual ", cpp=2, csharp=1),
    mark("auto", r"\bauto\b[&* ]+(?:\w+ ?(?:=|:)|\[)", cpp=4),
    mark("const", r"\bconst [\w:<>, ]{1,60}&", cpp=4),
    mark("const", r"\) const(?: override| noexcept)?(?:;|\s*\{|$)", cpp=5),
    mark("this", r"(?<![$\w])this->", cpp=4),
    mark("::", r"::~?\w+\(", cpp=1, rust=1, php=0.5),
    mark("::", r"^[\w<>]+::~?\w+\(|\b\w+::\w+ \w+(?: =|;|\()", cpp=3),
    mark("[", r"\[[&=\w, ]*\]\s*\([^()\n]*\)\s*(?:mutable )?(?:-> ?[^{\n]+)?\{", cpp=3),
    mark(
        "vector map set pair unordered_map unordered_set queue stack array priority_queue",
        r"\b(?:vector|map|set|pair|unordered_map|unordered_set|queue|stack|array|priority_queue)<[\w<>:, *]+> ?[&*]?\w",
        cpp=4,
    ),
    mark("namespace", r"^namespace(?: \w+(?:::\w+)*)?\n?[ \t]*\{", cpp=3, csharp=1, typescript=1),
    mark("new", r"\bnew \w+\[", cpp=2, java=2, csharp=1.5),
    mark("&", rf"[\s(,<]{_BASE}& \w", cpp=4),
    mark("delete", r"\bdelete(?:\[\])? \w+;", cpp=4),
    mark("new", r"\w\* \w+ = new ", cpp=6),
    mark("operator", r"\boperator ?[<>=+\-*/\[(!]{1,3}", cpp=4),
    mark(
        "push_back begin end emplace_back c_str size empty find at",
        r"\.(?:push_back|begin|end|emplace_back|c_str|size|empty|find|at)\(",
        cpp=1.5,
    ),
    mark("string", r"^string \w+(?: =|;|,)", cpp=2.5, csharp=2.5),
    mark("};", r"^class \w+ ?\{[^}]*\};", cpp=3),
    mark("};", r"\n\};$", cpp=1, c=1, javascript=1),
    mark("&", r"& (?<=[\w>]& )\w+[,)]", cpp=3),
    mark("Serial pinMode digitalWrite", r"\b(?:Serial\.\w+|pinMode|digitalWrite)\(", cpp=6),
)

_RUST_MARKS: Final = (
    mark("fn", r"\bfn \w+(?:<[^<>\n]*>)?\([^)\n]{0,200}(?:\)|,?$)(?!\s*=>)", rust=5),
    mark("mut", r"\blet mut \w", rust=5),
    mark("!", r"!(?<=[a-z]!) ?[(\[{]", rust=6),
    mark("impl", r"^(?:unsafe )?impl(?:<[^>\n]*>)? [\w<>:&' ,]+(?:\{|$)", rust=5),
    mark("pub", r"^pub(?:\([a-z]+\))? (?:fn|struct|enum|mod|use|trait|const|static|type|async|unsafe|\w+:)", rust=6),
    mark("use", r"^(?:pub )?use (?:std|crate|super|self|core|alloc|[a-z_]\w*)::[\w:{}, *]+;?", rust=6),
    mark("#[ #![", r"^#!?\[\w+", rust=5),
    mark("->", r"\) -> (?:&|'|Result|Option|Self|Box|Vec|impl|String|bool|[iu]\d+|f\d+|usize|\()", rust=3),
    mark("&", r"&mut |&self\b|&str\b|&'\w|&\[", rust=5),
    mark(":", r": ?&?(?:mut )?(?:[iu](?:8|16|32|64|128|size)|f32|f64|usize|String|Vec<|Option<|&str|HashMap<)", rust=3),
    mark("match", r"\bmatch [^\n{;]{1,80}\{", rust=5),
    mark("=>", r"^(?:Some|Ok|Err|None|_|[A-Z]\w*::\w+)(?:\([^)\n]*\))? (?:if [^\n=]+ )?=> ", rust=6),
    mark("unwrap expect unwrap_or", r"\.unwrap\(\)|\.expect\(|\.unwrap_or\(", rust=3),
    mark(")?", r"\)\?;|\)\?\.", rust=5),
    mark("::", r"::new\(", rust=4),
    mark("::", r"(?:String|Vec|Box|Rc|Arc|HashMap|Ok|Option|Self|File|std)::(?:<|\w)", rust=3),
    mark("|", r"[(,] ?(?:move )?\|&?[\w, &]+\| ", rust=3),
    mark(
        "iter into_iter collect to_string as_str clone to_owned chars",
        r"\.(?:iter|into_iter|collect|to_string|as_str|clone|to_owned|chars)\(\)",
        rust=2.5,
    ),
    mark("::<", r"::<", rust=5),
    mark("<'", r"<'\w+[>,]", rust=5),
    mark("let", r"\blet (?:Some|Ok|Err)\(", rust=4),
    mark("let", r"^let \w+(?:: [^=\n]+)? = [^\n]*;$", rust=1),
    mark("for", r"\bfor (?:\(\w+, \w+\)|&?\w+) in [^\n:;]{1,100}\{$", rust=3, swift=2),
    mark("mod", r"\nmod \w+(?:;| \{)", rust=4),
    mark("..=", r"\d\.\.=\w", rust=4),
)

MARKS: Final = (*_C_MARKS, *_CPP_MARKS, *_RUST_MARKS)
