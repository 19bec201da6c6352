"""What speaks for Go, Java, C#, Kotlin and Swift."""

from __future__ import annotations

from typing import Final

from flyteplugins_codegen.source.inference.evidence import mark, raw_mark, words

WORDS: Final = (
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

MARKS: Final = (*_GO_MARKS, *_JAVA_MARKS, *_CSHARP_MARKS, *_KOTLIN_MARKS, *_SWIFT_MARKS)
