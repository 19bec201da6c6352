"""Words and patterns of C, C++ and Rust, and of Go, Java, C#, Kotlin and Swift.

Evidence for C counts for C++ too, so that only what C lacks is listed under C++.
"""

from __future__ import annotations

from typing import Final

from flyteplugins_codegen.source.languages.evidence import pattern, raw_pattern, words

_MANAGED_WORDS: Final = (
    words("func chan defer fmt iota rune", go=1.5),
    words("package nil err interface range Println Errorf Sprintf", go=0.7),
    words("ArrayList Scanner Autowired Override InterruptedException IOException NullPointerException", java=3),
    words("String Integer boolean extends implements throws final HashMap Collectors private public", java=1),
    words("List Map Optional static void Exception StringBuilder", java=0.7),
    words("Console IEnumerable IActionResult Task DateTime Guid DbContext StringBuilder decimal", csharp=1.5),
    words("MonoBehaviour Vector3 GameObject IQueryable", csharp=4),
    words("using namespace string async override sealed public partial", csharp=0.7),
    words("fun listOf mutableListOf mapOf companion suspend lateinit", kotlin=3),
    words("val when object data", kotlin=0.7),
    words("guard SwiftUI UIKit UIViewController ObservableObject fileprivate inout URLSession", swift=4),
    words("func let protocol extension nil", swift=0.7),
)

_GO_PATTERNS: Final = (
    pattern("package", r"\npackage \w+$", go=6, kotlin=0.7),
    pattern("func", r"^func (?:\(\w* ?\*?[\w.\[\]]+\) )?\w+(?:\[[^\]\n]*\])?\([^{\n]*\{", go=4, swift=0.7),
    pattern("func", r"\nfunc \(\w+ \*?\w+\) \w+", go=6),
    pattern(":=", r"^(?:if |for |switch )?\w[\w, ]{0,60} := ", go=5),
    pattern("err ok", r"^\w+, (?:err|ok) :?= ", go=5),
    pattern("if", r"^if !?\w[\w.()]* \{$", go=1.5, rust=1, swift=1),
    pattern("fmt", r"\bfmt\.[A-Z]\w+\(", go=5),
    pattern("err", r"\berr (?:!=|==) nil\b", go=6),
    pattern("<- chan", r"<-\w|\bchan \w|\w <- ", go=3),
    pattern("go", r"\bgo func\(|\n[ \t]*go \w[\w.]*\([^\n]*\)$", go=6),
    pattern("defer", r"^defer (?:[\w.]+|func)\(", go=5),
    pattern("type", r"^type \w+(?:\[[^\]\n]*\])? (?:struct|interface|func|map|\[\]|int|string)\b", go=7),
    pattern("map", r"\bmap\[[\w*.]+\][\w*\[{]", go=6),
    pattern("make", r"\bmake\((?:chan|map|\[\])", go=7),
    pattern("import", r"\nimport (?:\($|\"\"$|\w+ \"\"$)", go=5),
    raw_pattern('"', r'\nimport "\w[\w/.-]*"$', go=3),
    pattern("range", r":?= range ", go=5),
    pattern("[]", r"(?<!\w)\[\](?:string|int|byte|float64|interface|error|rune|\*?[A-Z]\w+)\b(?!\))", go=3.5),
    pattern("var", r"^var \w+ (?:\*?\w+\.)?[*\[\]]*\w+(?: =|$)", go=4),
    pattern(
        "http json os strings time sync strconv errors log context sort io bufio filepath",
        r"(?:http|json|os|strings|time|sync|strconv|errors|log|context|sort|io|bufio|filepath)\.[A-Z]\w+",
        go=3,
    ),
    raw_pattern("`", r"`(?:json|db|yaml|xml|gorm):\"", go=6),
    pattern("interface", r"\binterface\{\}", go=5),
    pattern("{", r"^(?:for|if|switch) [^(\n:][^\n{:]*\{$", go=2, rust=1.5, swift=1),
    pattern("struct", r"\bstruct ?\{[^}]*\}\{", go=4),
    pattern("nil", r"\breturn nil\b|, nil$|\bnil\)", go=3),
    pattern("case", r"^case \w+ ?:?= ?<-|^case <-", go=5),
    pattern("*", r" \*\w+\.[A-Z]\w*[,)]", go=4),
)

_JAVA_PATTERNS: Final = (
    pattern(
        "class interface enum record",
        r"^public (?:static |final |abstract ){0,3}(?:class|interface|enum|record) \w",
        java=6,
        csharp=4,
    ),
    pattern(
        "public private protected",
        r"^(?:public|private|protected) (?:static |final |synchronized |abstract ){0,3}(?:<\w+> )?"
        r"[\w<>\[\], ?.]+ \w+\([^)\n]*\)",
        java=3.5,
        csharp=2.5,
        php=-1,
    ),
    pattern(
        "System", r"\bSystem\.(?:out|err|in|exit|currentTimeMillis|nanoTime|getenv|getProperty|arraycopy)\b", java=8
    ),
    pattern("import", r"^import (?:static )?[a-z]\w*(?:\.\w+)+(?:\.\*)?;", java=7),
    pattern("package", r"^package [\w.]+;", java=8),
    pattern("@", r"@Override\b", java=5),
    pattern("String", r"\bString(?:\[\]|\.\.\.)? \w+", java=4),
    pattern(
        "List Map Set Optional ArrayList HashMap Collection Stream Function Supplier Comparable",
        r"(?:List|Map|Set|Optional|ArrayList|HashMap|Collection|Stream|Function|Supplier|Comparable)<[A-Z?]",
        java=3,
        csharp=0.7,
    ),
    pattern("new", r"^(?:final )?[A-Z]\w*(?:<[\w<>, ?]*>)? \w+ = new [A-Z]\w*[<(]", java=4, csharp=2.5),
    pattern(
        "private protected public",
        r"^(?:private|protected|public) (?:static )?(?:final )?"
        r"(?:[A-Z]\w*(?:<[\w<>, ?]*>)?|int|boolean|long|double|float) \w+ ?[;=]",
        java=4,
        csharp=3,
    ),
    pattern(
        "private protected public",
        r"^(?:public|private|protected) [A-Z]\w*\([^)\n]*\) ?(?:\{|throws)",
        java=4,
        csharp=2.5,
    ),
    pattern("super", r"^super\(\w*[,)]", java=1.2, javascript=1.2),
    pattern("final", r"^final [\w<>\[\]]+ \w+ ?[=;]", java=5),
    pattern("final", r"\b(?:private|static|public) (?:static )?final ", java=5),
    pattern("throws", r"\) throws [A-Z]\w+", java=6),
    pattern("stream Collectors", r"\.stream\(\)|\.collect\(Collectors", java=6),
    pattern("throw", r"\bthrow new [A-Z]\w*Exception\(", java=3, csharp=2.5, php=1),
    pattern("try", r"\btry \((?:final )?[A-Z]\w*", java=5),
    pattern(
        "List Set Map Arrays Collections Objects Optional Stream Files Paths Integer Collectors",
        r"(?:List|Set|Map|Arrays|Collections|Objects|Optional|Stream|Files|Paths|Integer|Collectors)\.[a-z]\w*\(",
        java=3,
    ),
    pattern(
        "interface",
        r"^(?:public )?interface \w+[^\n{]*\{\s*(?:[A-Z]\w*|void|int|boolean|double) \w+\(",
        java=5,
        csharp=3,
    ),
    pattern("boolean", r"\bboolean \w", java=3),
    pattern("catch", r"\bcatch \((?:final )?[A-Z]\w*(?:Exception|Error|Throwable)? \w+\)", java=3.5, csharp=3),
    pattern(
        "@",
        r"^@(?:Autowired|Test|RestController|GetMapping|PostMapping|Entity|Service|Bean|Configuration|Id|Column|"
        r"SpringBootApplication|Data|Component|Repository|BeforeEach|Nullable|NotNull)\b",
        java=5,
        kotlin=2,
    ),
    pattern("->", r"\(\) -> |\w\) -> \{|\(\w+ -> ", java=2),
    pattern("::", r"\((?:this|[A-Z]\w*|System\.out)::\w+\)", java=3),
    pattern("for", r"\bfor \((?:final )?(?:[A-Z]\w*(?:<[\w<>, ?]*>)?|int|char|long|double) \w+ : ", java=5, cpp=3),
    pattern(
        "printStackTrace getClass equals charAt getMessage println hashCode entrySet keySet valueOf",
        r"\.(?:printStackTrace|getClass|equals|charAt|getMessage|println|hashCode|entrySet|keySet|valueOf)\(",
        java=2.5,
    ),
    pattern("[]", r"(?:int|char|long|double|byte)\[\](?:\[\])? \w", java=4, csharp=3),
    pattern("extends", r"\bclass \w+ extends \w+", java=2, javascript=2, php=1.5, typescript=0.5),
    pattern("=", r"^[A-Z]\w*(?:<[\w<>, ?]*>)? [a-z]\w* = [^\n]*;$", java=3, csharp=2, c=1),
)

_CSHARP_PATTERNS: Final = (
    pattern("using", r"^(?:global )?using (?:static )?[A-Z]\w*(?:\.\w+)*;", csharp=7),
    pattern("namespace", r"^namespace [A-Z]\w*(?:\.\w+)*(?:;|\s*\{|$)", csharp=4),
    pattern("Console", r"\bConsole\.(?:Write|Read)", csharp=8),
    pattern("new", r"\bnew (?:List|Dictionary|HashSet|Queue|Stack)<", csharp=4),
    pattern("get", r"\{ ?get;", csharp=9),
    pattern(".", r"= (?:await |new )?[A-Z]\w*\.[A-Z]\w*\(", csharp=2.5),
    pattern(".", r"\.[A-Z]\w+\.[A-Z]\w+\(", csharp=2.5),
    pattern("=>", r"^(?:public|private|protected|internal) [^\n=]+ => ", csharp=6),
    pattern("Main", r"\bstatic (?:async )?(?:void|Task|int)(?:<int>)? Main\(", csharp=6),
    pattern("from", r"\bfrom \w+ in \w", csharp=4),
    pattern("foreach", r"\bforeach \((?:var|[A-Za-z]\w*(?:<[^>\n]*>)?) \w+ in ", csharp=9),
    pattern(
        "Where Select ToList OrderBy FirstOrDefault Any ToString ToArray Add Length Count Contains GroupBy",
        r"\.(?:Where|Select|ToList|OrderBy|FirstOrDefault|Any|ToString|ToArray|Add|Length|Count|Contains|GroupBy)[(; ]",
        csharp=3,
    ),
    pattern('$"', r"\$\"\"", csharp=2.5),
    pattern(
        "string bool Task decimal object",
        r"(?:public|private|static|protected|internal|readonly) (?:static |async |override |readonly |const ){0,3}"
        r"(?:string|bool|Task|decimal|object)\b",
        csharp=3,
    ),
    pattern("record", r"\brecord \w+\(", csharp=4, java=3),
    pattern(
        "class",
        r"^(?:public |internal )?(?:sealed |partial |abstract ){0,3}class \w+ : [A-Z]\w*",
        csharp=5,
        kotlin=1,
        swift=2,
    ),
    pattern("var", r"^(?:using )?var \w+ = (?:await |new )?[\w.]+[(<;]", csharp=1.5),
    pattern("using", r"^using (?:var |\()", csharp=5),
    pattern("await", r"\bawait [\w.]+Async\(", csharp=5),
    pattern("Task", r"\basync Task", csharp=8),
    pattern("string", r"\bstring\[\] ", csharp=5),
    pattern(
        "[",
        r"^\[(?:Http\w+|ApiController|Route|Fact|Test|TestMethod|Serializable|Required|Authorize|Key)\b[^\n]*\]$",
        csharp=7,
    ),
    pattern("??", r"\?\?", csharp=0.7, javascript=0.7, swift=0.5, php=0.5),
)

_KOTLIN_PATTERNS: Final = (
    pattern("fun", r"\bfun (?:<[^>\n]*> )?(?:\w+\.)?\w+\(", kotlin=5),
    pattern("val", r"\bval \w+(?:: [\w<>?, ]+)? ?(?:=|by )", kotlin=5),
    pattern("var", r"\bvar \w+: [A-Z]\w*", kotlin=2.5, swift=2.5),
    pattern("class interface object", r"\bdata class \w+\(|\bsealed (?:class|interface) |\bobject \w+ ?\{", kotlin=8),
    pattern("class", r"\bclass \w+(?:\([^)\n]*\))? : \w+\(", kotlin=6),
    pattern("when", r"\bwhen ?(?:\([^)\n]*\))? ?\{", kotlin=5),
    pattern("println", r"(?<![.\w])println\(", kotlin=3),
    pattern("it", r"\{ ?it\.|\bit\.\w|\(it\)", kotlin=2.5),
    pattern(
        "listOf mutableListOf mapOf mutableMapOf setOf arrayOf",
        r"(?:list|map|set|array|List|Map)Of\(",
        kotlin=4,
    ),
    pattern(
        "Int String Boolean Long Double Unit List",
        r": (?:Int|String|Boolean|Long|Double|Unit|List<)\b",
        kotlin=2,
        swift=1.5,
    ),
    pattern("import", r"\nimport (?:kotlin|android|androidx|io\.ktor)[\w.]*(?:\.\*)?$", kotlin=8),
    pattern("->", r"^(?:else|\d+|is \w+) -> ", kotlin=4),
)

_SWIFT_PATTERNS: Final = (
    pattern("import", r"\nimport (?:SwiftUI|UIKit|Foundation|Combine|XCTest)$", swift=8),
    pattern("guard", r"\bguard (?:let |var |[^\n]{0,120}\belse \{)", swift=6),
    pattern("if", r"\bif let \w+ = [^\n]*\{", swift=3),
    pattern("func", r"\bfunc \w+\([^)\n]*\)(?: throws| async)*(?: -> [\w?\[\]<>:, ]+)? ?\{", swift=3),
    pattern("->", r"-> (?:String|Int|Bool|Void|Double|\[\w+\]|some \w+)\b ?\{", swift=4),
    pattern("func", r"\bfunc \w+(?:<[^>\n]*>)?\((?:_ )?\w+(?: \w+)?: ", swift=6),
    raw_pattern("\\(", r"\"[^\"\n]*\\\(\w", swift=5),
    pattern("var", r"\bvar \w+: (?:some |\[)\w+|\bvar \w+: \w+ \{", swift=5),
    pattern(
        "@",
        r"@(?:State|Published|ObservedObject|IBOutlet|IBAction|objc|escaping|main|StateObject|Environment)\b",
        swift=6,
    ),
    pattern("let", r"\blet \w+: [A-Z]\w* =", swift=2),
    pattern("let", r"^let (?:\w+(?:: \w+)?|\([\w, ]+\)) = [^;\n]*$", swift=0.5),
    pattern("try", r"\btry (?:await|[?!]) ", swift=4),
    pattern("extension", r"^extension \w+", swift=5),
)

_MANAGED_PATTERNS: Final = (*_GO_PATTERNS, *_JAVA_PATTERNS, *_CSHARP_PATTERNS, *_KOTLIN_PATTERNS, *_SWIFT_PATTERNS)


_NATIVE_WORDS: Final = (
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

_C_PATTERNS: Final = (
    pattern("#include", r"^# ?include\s*(?:<[\w/.]+\.h>|\"\")", c=6),
    pattern("#", r"^# ?(?:define \w|ifndef \w|ifdef \w|endif\b|pragma |undef |if |elif |else\b|error )", c=5),
    pattern(_TYPES, rf"^{_TYPE}[ *]+\**\w+(?:\[\w*\])*\s*(?:=[^=]|;|,)", c=3, java=1.5, csharp=1.5),
    pattern(_TYPES, rf"^{_TYPE}[ *]+\w+\([^)\n;]*\)\s*(?:\{{|;|$)", c=4, java=1, csharp=1),
    pattern(_TYPES, rf"[\s(,<]{_BASE} ?\*", c=2.5),
    pattern("*", r" \*\w+(?: =|[;,)])", c=1.5),
    pattern("main", r"\bint main\(", c=4),
    pattern("printf fprintf sprintf snprintf", r"(?<![\w.])(?:f|s|sn)?printf\(", c=2, php=0.7),
    pattern("->", r"->(?<=\w->)\w", c=2.5),
    pattern("struct", r"\bstruct \w+ ?(?:\{|\*|\w+[;, =\[])", c=2.5, rust=1, swift=0.7, go=-1),
    pattern("typedef", r"^typedef ", c=5),
    pattern("for", r"\bfor ?\(int \w+ ?=", c=3, java=2, csharp=1.5),
    pattern(_TYPES, rf"[\s(,<]{_BASE} \w+\[\w*\]", c=3),
    pattern("&", r"[(, =]&\w+[,)\[;.]", c=1.5, rust=0.7, go=0.5),
    pattern("return", r"\breturn (?:-?[01]|EXIT_\w+);", c=1.5),
    pattern("extern", r"^extern \w", c=3),
    pattern("enum", r"^enum(?: \w+)? ?\{", c=1.5),
    pattern("enum", r"^enum ?\{", c=1.5),
    raw_pattern("%", r"printf\(\"[^\"\n]*%[-.\d]*(?:d|s|f|c|lu|ld|zu|x|p)", c=2),
    pattern("while if", r"(?:while|if) ?\(\(\w+ = ", c=3, java=1),
)

_CPP_PATTERNS: Final = (
    pattern("std", r"\bstd::\w", cpp=6, rust=-2),
    pattern("#include", r"^# ?include\s*<[\w/+]+(?:\.hpp|\.h\+\+)?>", cpp=6),
    pattern("<<", r"(?:cout|cerr|os|out|ss|std::\w+)\s*<<|<< ?(?:endl|std::endl)", cpp=4),
    pattern(">>", r"\bcin\s*>>", cpp=4),
    pattern("using", r"^using namespace \w+;", cpp=8),
    pattern("using", r"^using \w+ = [^\n]*[>*&\w];", cpp=3),
    pattern("template", r"^template ?<", cpp=6),
    pattern("public private protected", r"^(?:public|private|protected):", cpp=6),
    pattern("class struct", r"^(?:class|struct) \w+(?: final)? : (?:public|private|protected) \w", cpp=8),
    pattern("~", r"~\w+\(\)", cpp=5),
    pattern("virtual", r"\bvirtual ", cpp=2, csharp=1),
    pattern("auto", r"\bauto\b[&* ]+(?:\w+ ?(?:=|:)|\[)", cpp=4),
    pattern("const", r"\bconst [\w:<>, ]{1,60}&", cpp=4),
    pattern("const", r"\) const(?: override| noexcept)?(?:;|\s*\{|$)", cpp=5),
    pattern("this", r"(?<![$\w])this->", cpp=4),
    pattern("::", r"::~?\w+\(", cpp=1, rust=1, php=0.5),
    pattern("::", r"^[\w<>]+::~?\w+\(|\b\w+::\w+ \w+(?: =|;|\()", cpp=3),
    pattern("[", r"\[[&=\w, ]*\]\s*\([^()\n]*\)\s*(?:mutable )?(?:-> ?[^{\n]+)?\{", cpp=3),
    pattern(
        "vector map set pair unordered_map unordered_set queue stack array priority_queue",
        r"\b(?:vector|map|set|pair|unordered_map|unordered_set|queue|stack|array|priority_queue)<[\w<>:, *]+> ?[&*]?\w",
        cpp=4,
    ),
    pattern("namespace", r"^namespace(?: \w+(?:::\w+)*)?\n?[ \t]*\{", cpp=3, csharp=1, typescript=1),
    pattern("new", r"\bnew \w+\[", cpp=2, java=2, csharp=1.5),
    pattern("&", rf"[\s(,<]{_BASE}& \w", cpp=4),
    pattern("delete", r"\bdelete(?:\[\])? \w+;", cpp=4),
    pattern("new", r"\w\* \w+ = new ", cpp=6),
    pattern("operator", r"\boperator ?[<>=+\-*/\[(!]{1,3}", cpp=4),
    pattern(
        "push_back begin end emplace_back c_str size empty find at",
        r"\.(?:push_back|begin|end|emplace_back|c_str|size|empty|find|at)\(",
        cpp=1.5,
    ),
    pattern("string", r"^string \w+(?: =|;|,)", cpp=2.5, csharp=2.5),
    pattern("};", r"^class \w+ ?\{[^}]*\};", cpp=3),
    pattern("};", r"\n\};$", cpp=1, c=1, javascript=1),
    pattern("&", r"& (?<=[\w>]& )\w+[,)]", cpp=3),
    pattern("Serial pinMode digitalWrite", r"\b(?:Serial\.\w+|pinMode|digitalWrite)\(", cpp=6),
)

_RUST_PATTERNS: Final = (
    pattern("fn", r"\bfn \w+(?:<[^<>\n]*>)?\([^)\n]{0,200}(?:\)|,?$)(?!\s*=>)", rust=5),
    pattern("mut", r"\blet mut \w", rust=5),
    pattern("!", r"!(?<=[a-z]!) ?[(\[{]", rust=6),
    pattern("impl", r"^(?:unsafe )?impl(?:<[^>\n]*>)? [\w<>:&' ,]+(?:\{|$)", rust=5),
    pattern("pub", r"^pub(?:\([a-z]+\))? (?:fn|struct|enum|mod|use|trait|const|static|type|async|unsafe|\w+:)", rust=6),
    pattern("use", r"^(?:pub )?use (?:std|crate|super|self|core|alloc|[a-z_]\w*)::[\w:{}, *]+;?", rust=6),
    pattern("#[ #![", r"^#!?\[\w+", rust=5),
    pattern("->", r"\) -> (?:&|'|Result|Option|Self|Box|Vec|impl|String|bool|[iu]\d+|f\d+|usize|\()", rust=3),
    pattern("&", r"&mut |&self\b|&str\b|&'\w|&\[", rust=5),
    pattern(
        ":", r": ?&?(?:mut )?(?:[iu](?:8|16|32|64|128|size)|f32|f64|usize|String|Vec<|Option<|&str|HashMap<)", rust=3
    ),
    pattern("match", r"\bmatch [^\n{;]{1,80}\{", rust=5),
    pattern("=>", r"^(?:Some|Ok|Err|None|_|[A-Z]\w*::\w+)(?:\([^)\n]*\))? (?:if [^\n=]+ )?=> ", rust=6),
    pattern("unwrap expect unwrap_or", r"\.unwrap\(\)|\.expect\(|\.unwrap_or\(", rust=3),
    pattern(")?", r"\)\?;|\)\?\.", rust=5),
    pattern("::", r"::new\(", rust=4),
    pattern("::", r"(?:String|Vec|Box|Rc|Arc|HashMap|Ok|Option|Self|File|std)::(?:<|\w)", rust=3),
    pattern("|", r"[(,] ?(?:move )?\|&?[\w, &]+\| ", rust=3),
    pattern(
        "iter into_iter collect to_string as_str clone to_owned chars",
        r"\.(?:iter|into_iter|collect|to_string|as_str|clone|to_owned|chars)\(\)",
        rust=2.5,
    ),
    pattern("::<", r"::<", rust=5),
    pattern("<'", r"<'\w+[>,]", rust=5),
    pattern("let", r"\blet (?:Some|Ok|Err)\(", rust=4),
    pattern("let", r"^let \w+(?:: [^=\n]+)? = [^\n]*;$", rust=1),
    pattern("for", r"\bfor (?:\(\w+, \w+\)|&?\w+) in [^\n:;]{1,100}\{$", rust=3, swift=2),
    pattern("mod", r"\nmod \w+(?:;| \{)", rust=4),
    pattern("..=", r"\d\.\.=\w", rust=4),
)

_NATIVE_PATTERNS: Final = (*_C_PATTERNS, *_CPP_PATTERNS, *_RUST_PATTERNS)

WORDS: Final = (*_NATIVE_WORDS, *_MANAGED_WORDS)
PATTERNS: Final = (*_NATIVE_PATTERNS, *_MANAGED_PATTERNS)
