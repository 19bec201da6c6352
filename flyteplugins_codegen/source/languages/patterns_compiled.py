"""What speaks for Go, Java, C#, Kotlin and Swift."""

from __future__ import annotations

from typing import Final

from flyteplugins_codegen.source.languages.evidence import mark, raw_mark, words

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

_GO_MARKS: Final = (
    mark("package", r"\npackage \w+$", go=6, kotlin=0.7),
    mark("func", r"^func (?:\(\w* ?\*?[\w.\[\]]+\) )?\w+(?:\[[^\]\n]*\])?\([^{\n]*\{", go=4, swift=0.7),
    mark("func", r"\nfunc \(\w+ \*?\w+\) \w+", go=6),
    mark(":=", r"^(?:if |for |switch )?\w[\w, ]{0,60} := ", go=5),
    mark("err ok", r"^\w+, (?:err|ok) :?= ", go=5),
    mark("if", r"^if !?\w[\w.()]* \{$", go=1.5, rust=1, swift=1),
    mark("fmt", r"\bfmt\.[A-Z]\w+\(", go=5),
    mark("err", r"\berr (?:!=|==) nil\b", go=6),
    mark("<- chan", r"<-\w|\bchan \w|\w <- ", go=3),
    mark("go", r"\bgo func\(|\n[ \t]*go \w[\w.]*\([^\n]*\)$", go=6),
    mark("defer", r"^defer (?:[\w.]+|func)\(", go=5),
    mark("type", r"^type \w+(?:\[[^\]\n]*\])? (?:struct|interface|func|map|\[\]|int|string)\b", go=7),
    mark("map", r"\bmap\[[\w*.]+\][\w*\[{]", go=6),
    mark("make", r"\bmake\((?:chan|map|\[\])", go=7),
    mark("import", r"\nimport (?:\($|\"\"$|\w+ \"\"$)", go=5),
    raw_mark('"', r'\nimport "\w[\w/.-]*"$', go=3),
    mark("range", r":?= range ", go=5),
    mark("[]", r"(?<!\w)\[\](?:string|int|byte|float64|interface|error|rune|\*?[A-Z]\w+)\b(?!\))", go=3.5),
    mark("var", r"^var \w+ (?:\*?\w+\.)?[*\[\]]*\w+(?: =|$)", go=4),
    mark(
        "http json os strings time sync strconv errors log context sort io bufio filepath",
        r"(?:http|json|os|strings|time|sync|strconv|errors|log|context|sort|io|bufio|filepath)\.[A-Z]\w+",
        go=3,
    ),
    raw_mark("`", r"`(?:json|db|yaml|xml|gorm):\"", go=6),
    mark("interface", r"\binterface\{\}", go=5),
    mark("{", r"^(?:for|if|switch) [^(\n:][^\n{:]*\{$", go=2, rust=1.5, swift=1),
    mark("struct", r"\bstruct ?\{[^}]*\}\{", go=4),
    mark("nil", r"\breturn nil\b|, nil$|\bnil\)", go=3),
    mark("case", r"^case \w+ ?:?= ?<-|^case <-", go=5),
    mark("*", r" \*\w+\.[A-Z]\w*[,)]", go=4),
)

_JAVA_MARKS: Final = (
    mark(
        "class interface enum record",
        r"^public (?:static |final |abstract ){0,3}(?:class|interface|enum|record) \w",
        java=6,
        csharp=4,
    ),
    mark(
        "public private protected",
        r"^(?:public|private|protected) (?:static |final |synchronized |abstract ){0,3}(?:<\w+> )?"
        r"[\w<>\[\], ?.]+ \w+\([^)\n]*\)",
        java=3.5,
        csharp=2.5,
        php=-1,
    ),
    mark("System", r"\bSystem\.(?:out|err|in|exit|currentTimeMillis|nanoTime|getenv|getProperty|arraycopy)\b", java=8),
    mark("import", r"^import (?:static )?[a-z]\w*(?:\.\w+)+(?:\.\*)?;", java=7),
    mark("package", r"^package [\w.]+;", java=8),
    mark("@", r"@Override\b", java=5),
    mark("String", r"\bString(?:\[\]|\.\.\.)? \w+", java=4),
    mark(
        "List Map Set Optional ArrayList HashMap Collection Stream Function Supplier Comparable",
        r"(?:List|Map|Set|Optional|ArrayList|HashMap|Collection|Stream|Function|Supplier|Comparable)<[A-Z?]",
        java=3,
        csharp=0.7,
    ),
    mark("new", r"^(?:final )?[A-Z]\w*(?:<[\w<>, ?]*>)? \w+ = new [A-Z]\w*[<(]", java=4, csharp=2.5),
    mark(
        "private protected public",
        r"^(?:private|protected|public) (?:static )?(?:final )?"
        r"(?:[A-Z]\w*(?:<[\w<>, ?]*>)?|int|boolean|long|double|float) \w+ ?[;=]",
        java=4,
        csharp=3,
    ),
    mark(
        "private protected public",
        r"^(?:public|private|protected) [A-Z]\w*\([^)\n]*\) ?(?:\{|throws)",
        java=4,
        csharp=2.5,
    ),
    mark("super", r"^super\(\w*[,)]", java=1.2, javascript=1.2),
    mark("final", r"^final [\w<>\[\]]+ \w+ ?[=;]", java=5),
    mark("final", r"\b(?:private|static|public) (?:static )?final ", java=5),
    mark("throws", r"\) throws [A-Z]\w+", java=6),
    mark("stream Collectors", r"\.stream\(\)|\.collect\(Collectors", java=6),
    mark("throw", r"\bthrow new [A-Z]\w*Exception\(", java=3, csharp=2.5, php=1),
    mark("try", r"\btry \((?:final )?[A-Z]\w*", java=5),
    mark(
        "List Set Map Arrays Collections Objects Optional Stream Files Paths Integer Collectors",
        r"(?:List|Set|Map|Arrays|Collections|Objects|Optional|Stream|Files|Paths|Integer|Collectors)\.[a-z]\w*\(",
        java=3,
    ),
    mark(
        "interface",
        r"^(?:public )?interface \w+[^\n{]*\{\s*(?:[A-Z]\w*|void|int|boolean|double) \w+\(",
        java=5,
        csharp=3,
    ),
    mark("boolean", r"\bboolean \w", java=3),
    mark("catch", r"\bcatch \((?:final )?[A-Z]\w*(?:Exception|Error|Throwable)? \w+\)", java=3.5, csharp=3),
    mark(
        "@",
        r"^@(?:Autowired|Test|RestController|GetMapping|PostMapping|Entity|Service|Bean|Configuration|Id|Column|"
        r"SpringBootApplication|Data|Component|Repository|BeforeEach|Nullable|NotNull)\b",
        java=5,
        kotlin=2,
    ),
    mark("->", r"\(\) -> |\w\) -> \{|\(\w+ -> ", java=2),
    mark("::", r"\((?:this|[A-Z]\w*|System\.out)::\w+\)", java=3),
    mark("for", r"\bfor \((?:final )?(?:[A-Z]\w*(?:<[\w<>, ?]*>)?|int|char|long|double) \w+ : ", java=5, cpp=3),
    mark(
        "printStackTrace getClass equals charAt getMessage println hashCode entrySet keySet valueOf",
        r"\.(?:printStackTrace|getClass|equals|charAt|getMessage|println|hashCode|entrySet|keySet|valueOf)\(",
        java=2.5,
    ),
    mark("[]", r"(?:int|char|long|double|byte)\[\](?:\[\])? \w", java=4, csharp=3),
    mark("extends", r"\bclass \w+ extends \w+", java=2, javascript=2, php=1.5, typescript=0.5),
    mark("=", r"^[A-Z]\w*(?:<[\w<>, ?]*>)? [a-z]\w* = [^\n]*;$", java=3, csharp=2, c=1),
)

_CSHARP_MARKS: Final = (
    mark("using", r"^(?:global )?using (?:static )?[A-Z]\w*(?:\.\w+)*;", csharp=7),
    mark("namespace", r"^namespace [A-Z]\w*(?:\.\w+)*(?:;|\s*\{|$)", csharp=4),
    mark("Console", r"\bConsole\.(?:Write|Read)", csharp=8),
    mark("new", r"\bnew (?:List|Dictionary|HashSet|Queue|Stack)<", csharp=4),
    mark("get", r"\{ ?get;", csharp=9),
    mark(".", r"= (?:await |new )?[A-Z]\w*\.[A-Z]\w*\(", csharp=2.5),
    mark(".", r"\.[A-Z]\w+\.[A-Z]\w+\(", csharp=2.5),
    mark("=>", r"^(?:public|private|protected|internal) [^\n=]+ => ", csharp=6),
    mark("Main", r"\bstatic (?:async )?(?:void|Task|int)(?:<int>)? Main\(", csharp=6),
    mark("from", r"\bfrom \w+ in \w", csharp=4),
    mark("foreach", r"\bforeach \((?:var|[A-Za-z]\w*(?:<[^>\n]*>)?) \w+ in ", csharp=9),
    mark(
        "Where Select ToList OrderBy FirstOrDefault Any ToString ToArray Add Length Count Contains GroupBy",
        r"\.(?:Where|Select|ToList|OrderBy|FirstOrDefault|Any|ToString|ToArray|Add|Length|Count|Contains|GroupBy)[(; ]",
        csharp=3,
    ),
    mark('$"', r"\$\"\"", csharp=2.5),
    mark(
        "string bool Task decimal object",
        r"(?:public|private|static|protected|internal|readonly) (?:static |async |override |readonly |const ){0,3}"
        r"(?:string|bool|Task|decimal|object)\b",
        csharp=3,
    ),
    mark("record", r"\brecord \w+\(", csharp=4, java=3),
    mark(
        "class",
        r"^(?:public |internal )?(?:sealed |partial |abstract ){0,3}class \w+ : [A-Z]\w*",
        csharp=5,
        kotlin=1,
        swift=2,
    ),
    mark("var", r"^(?:using )?var \w+ = (?:await |new )?[\w.]+[(<;]", csharp=1.5),
    mark("using", r"^using (?:var |\()", csharp=5),
    mark("await", r"\bawait [\w.]+Async\(", csharp=5),
    mark("Task", r"\basync Task", csharp=8),
    mark("string", r"\bstring\[\] ", csharp=5),
    mark(
        "[",
        r"^\[(?:Http\w+|ApiController|Route|Fact|Test|TestMethod|Serializable|Required|Authorize|Key)\b[^\n]*\]$",
        csharp=7,
    ),
    mark("??", r"\?\?", csharp=0.7, javascript=0.7, swift=0.5, php=0.5),
)

_KOTLIN_MARKS: Final = (
    mark("fun", r"\bfun (?:<[^>\n]*> )?(?:\w+\.)?\w+\(", kotlin=5),
    mark("val", r"\bval \w+(?:: [\w<>?, ]+)? ?(?:=|by )", kotlin=5),
    mark("var", r"\bvar \w+: [A-Z]\w*", kotlin=2.5, swift=2.5),
    mark("class interface object", r"\bdata class \w+\(|\bsealed (?:class|interface) |\bobject \w+ ?\{", kotlin=8),
    mark("class", r"\bclass \w+(?:\([^)\n]*\))? : \w+\(", kotlin=6),
    mark("when", r"\bwhen ?(?:\([^)\n]*\))? ?\{", kotlin=5),
    mark("println", r"(?<![.\w])println\(", kotlin=3),
    mark("it", r"\{ ?it\.|\bit\.\w|\(it\)", kotlin=2.5),
    mark(
        "listOf mutableListOf mapOf mutableMapOf setOf arrayOf",
        r"(?:list|map|set|array|List|Map)Of\(",
        kotlin=4,
    ),
    mark(
        "Int String Boolean Long Double Unit List",
        r": (?:Int|String|Boolean|Long|Double|Unit|List<)\b",
        kotlin=2,
        swift=1.5,
    ),
    mark("import", r"\nimport (?:kotlin|android|androidx|io\.ktor)[\w.]*(?:\.\*)?$", kotlin=8),
    mark("->", r"^(?:else|\d+|is \w+) -> ", kotlin=4),
)

_SWIFT_MARKS: Final = (
    mark("import", r"\nimport (?:SwiftUI|UIKit|Foundation|Combine|XCTest)$", swift=8),
    mark("guard", r"\bguard (?:let |var |[^\n]{0,120}\belse \{)", swift=6),
    mark("if", r"\bif let \w+ = [^\n]*\{", swift=3),
    mark("func", r"\bfunc \w+\([^)\n]*\)(?: throws| async)*(?: -> [\w?\[\]<>:, ]+)? ?\{", swift=3),
    mark("->", r"-> (?:String|Int|Bool|Void|Double|\[\w+\]|some \w+)\b ?\{", swift=4),
    mark("func", r"\bfunc \w+(?:<[^>\n]*>)?\((?:_ )?\w+(?: \w+)?: ", swift=6),
    raw_mark("\\(", r"\"[^\"\n]*\\\(\w", swift=5),
    mark("var", r"\bvar \w+: (?:some |\[)\w+|\bvar \w+: \w+ \{", swift=5),
    mark(
        "@",
        r"@(?:State|Published|ObservedObject|IBOutlet|IBAction|objc|escaping|main|StateObject|Environment)\b",
        swift=6,
    ),
    mark("let", r"\blet \w+: [A-Z]\w* =", swift=2),
    mark("let", r"^let (?:\w+(?:: \w+)?|\([\w, ]+\)) = [^;\n]*$", swift=0.5),
    mark("try", r"\btry (?:await|[?!]) ", swift=4),
    mark("extension", r"^extension \w+", swift=5),
)

_MANAGED_MARKS: Final = (*_GO_MARKS, *_JAVA_MARKS, *_CSHARP_MARKS, *_KOTLIN_MARKS, *_SWIFT_MARKS)


# What speaks for C, C++ and Rust. C++ inherits all that speaks for C.

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

_NATIVE_MARKS: Final = (*_C_MARKS, *_CPP_MARKS, *_RUST_MARKS)

WORDS: Final = (*_NATIVE_WORDS, *_MANAGED_WORDS)
MARKS: Final = (*_NATIVE_MARKS, *_MANAGED_MARKS)
