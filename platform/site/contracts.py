"""Reads the declarations of a public header, each with the comment in front of it: its contract."""
import re

SKIPPED = re.compile(r"namespace\b.*\{$|\}( // namespace.*| /\*.*)?$|extern \"C\" \{$")
CONDITION = re.compile(r"#(if|ifdef|ifndef|else|elif|endif|error)\b")


class Declaration:
    """Adjacent declarations under one comment: the comment's text, the lines of code, the names that the code declares,
    and the names inside it (values of enumerations, nested types)."""

    def __init__(self, comment):
        self.comment, self.code, self.names, self.inner = comment, [], [], []

    def finish(self):
        outer, inner = names(without_comments("\n".join(self.code)))
        self.names = list(dict.fromkeys(outer))
        self.inner = [name for name in dict.fromkeys(inner) if name not in self.names]


def without_comments(code):
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(\\.|[^\"\\\n])*\"", " ", code, flags=re.S)


def names(code):
    """What code without comments declares: (names at its outermost level, values of enumerations and nested types)."""
    macros = re.findall(r"^#define (\w+)", code, flags=re.M)
    code = re.sub(r"^#(\\\n|.)*", "", code, flags=re.M)
    code = re.sub(r"__attribute__\(\(.*?\)\)\)?|template <.*?>$", "", code, flags=re.M)
    inner = []
    for body in re.findall(r"\benum\b[^{;]*\{([^}]*)\}", code):
        inner += re.findall(r"(?:^|,)\s*(\w+)", body)
    inner += re.findall(r"\b(?:class|struct|union|enum|enum class)\s+(\w+)\s*(?:final\s*)?[:{]", code)
    depth, flat = 0, ""
    for part in re.split(r"([{}])", code):
        depth += {"{": 1, "}": -1}.get(part, 0)
        if depth == 0:
            flat += "{}" if part == "}" else part
    patterns = (r"\s*(?:class|struct|union|enum|enum class) (\w+)\s*(?:final\s*)?(?::[^{]*)?(?:\{|$)", # a type
                r"[^=(]*\(\s*\*\s*(\w+)\s*\)", r"[^=(]*?(\w+)\s*\(", # a pointer to a function, a function
                r"\s*(?:typedef|using|extern|static|constexpr|inline|const)\b[^=]*?(\w+)\s*(?:\[[^]]*\]\s*)*(?:=|$)")
    outer = []
    for statement in re.split(r";|(?<=\))[^;={}]*\{\}", flat):
        for pattern in patterns:
            match = re.match(pattern, statement)
            if match:
                outer.append(match.group(1))
                break
    return macros + outer, inner


def comment_text(lines):
    """A comment without its marks."""
    lines = [re.sub(r"^\s*(/\*+|//|\*(?!/)) ?|\s*\*+/\s*$", "", line) for line in lines]
    return "\n".join(lines).strip("\n")


def read(text):
    """(the comment that opens the file, its declarations in order)."""
    lines = text.split("\n")
    opening, declarations, comment = None, [], []
    current, depth, adjacent = None, 0, False
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if current is None:
            if not line.strip():
                adjacent = False
                if comment and opening is None:
                    opening, comment = comment_text(comment), []
                continue
            if re.match(r"\s*(//|/\*)", line):
                indented = line[0] == " " and declarations
                block = [line]
                while line.lstrip().startswith("/*") and "*/" not in block[-1] and at < len(lines):
                    block.append(lines[at])
                    at += 1
                if indented: # the rest of a comment behind the declaration
                    declarations[-1].code += block
                else:
                    comment += block
                    adjacent = False
                continue
            if CONDITION.match(line) or SKIPPED.match(line) or line.startswith("#include") or \
                    re.match(r"#define \w+_(H|HPP)$", line):
                if comment and opening is None:
                    opening, comment = comment_text(comment), []
                continue
            if adjacent and not comment:
                current = declarations[-1]
            else:
                current = Declaration(comment_text(comment))
                declarations.append(current)
            comment = []
        current.code.append(line)
        rest = "\n".join(current.code)
        bare = without_comments(rest)
        depth = bare.count("{") - bare.count("}")
        if rest.rfind("/*") > rest.rfind("*/") or depth > 0 or line.endswith("\\"):
            continue
        if re.search(r"[;}]\s*$", bare) or re.match(r"#", line) or re.search(r"\\\n[^\n]*$", rest):
            current, adjacent = None, True
    for declaration in declarations:
        declaration.finish()
    return opening or "", declarations


def signature(code):
    """Code without the bodies of functions: how to call is the contract, not how it is done."""
    head = re.search(r"^(?!#)[^{;]*\)( const| noexcept| override)*\s*(:[^{;]*)?\{", code, flags=re.S)
    if head and not re.search(r"\b(class|struct|union|enum)\b[^({;]*\{", head.group(0)):
        return head.group(0)[:-1].rstrip() + ";"
    return code
