# Prints the sentences of files, a line each: FILE:LINE, the number of words, the kind (prose, heading, picture, cell,
# comment, text, name) and the sentence, with tabs between them. A page (.md) gives its text without code, a file in
# include/ its comments, a file in tests/ the names of its cases, any other file its string literals of at least three
# words.

# A sentence ends at a word with a full stop, where the next word may begin one, and where a paragraph, a cell or a
# literal ends. Its line is that of its first word.
function add(text,   words, count, i) {
    count = split(text, words, /[ \t]+/)
    for (i = 1; i <= count; i++) {
        if (words[i] == "") continue
        if (stopped && words[i] ~ /^[("'`]*([A-Z0-9`]|tlmalloc|[a-z_0-9]+:$)/) flush() # also "model: ..." in a list
        if (sentence == "") begun = FNR
        sentence = sentence (sentence == "" ? "" : " ") words[i]
        if (words[i] ~ /[A-Za-z0-9]/) length_in_words++
        stopped = words[i] ~ /[.!?][]"')`]*$/ && words[i] !~ /^[("']*(e\.g|i\.e|cf|vs|al|no|fig|sec|pp|[A-Z])\.$/
    }
}
function flush() {
    if (length_in_words >= fewest) print file ":" begun "\t" length_in_words "\t" kind "\t" sentence
    sentence = ""
    length_in_words = stopped = 0
}
function block(of_kind, text) {
    flush()
    kind = of_kind
    add(text)
    flush()
}

# Markdown without its marks. A link becomes its words.
function plain(text) {
    gsub(/\]\([^)]*\)/, "", text)
    gsub(/\]\[[^]]*\]/, "", text)
    gsub(/!?\[|\]/, "", text)
    gsub(/\*\*|<[\/a-z][^>]*>/, "", text)
    gsub(/(^|[ (])[*_]/, " ", text)
    return text
}
function page_line(line,   cells, count, i, indent) {
    if (line ~ /^ *(```|~~~)/) {
        flush()
        fenced = !fenced
    }
    match(line, /^ */)
    indent = RLENGTH
    if (line ~ /^[ \t]*$/) {
        flush()
        blank = 1
        return
    }
    if (!fenced && line ~ /^ *<!--.*--> *$/) { # indented lines below it are code
        flush()
        blank = 1
        return
    }
    if (blank && indent == 0) in_list = 0
    code = indent >= 4 && !in_list && (blank || code)
    blank = 0
    if (fenced || code || line ~ /^ *(```|~~~|<!--)|^\[[^]]+\]: |^ *\|[-| :]+\|$/) return
    if (line ~ /^#/) {
        sub(/^#+ */, "", line)
        block("heading", plain(line))
    } else if (line ~ /^ *\[?!\[/) {
        block("picture", plain(line))
    } else if (line ~ /^ *\|/) {
        gsub(/\\\|/, "/", line)
        count = split(line, cells, "|")
        for (i = 2; i < count; i++) block("cell", plain(cells[i]))
    } else {
        if (line ~ /^ *([-*+]|[0-9]+[.)]) /) {
            flush()
            sub(/^ *([-*+]|[0-9]+[.)]) /, "", line)
            in_list = 1
        }
        sub(/^ *> ?/, "", line)
        kind = "prose"
        add(plain(line))
    }
}

# The next line continues a comment that is still open, and a comment that began in the same column. An item of a list
# in a comment ("- ", or a name and two spaces) begins a sentence.
function comment_text(text, column) {
    kind = "comment"
    if (text ~ /^ *(- |[a-z_0-9]+  +[^ ])/ || column != last_column || text ~ /^ *$/) flush()
    last_column = column
    add(text)
}
function header_line(line,   at, end) {
    if (!open) {
        at = match(line, /\/\/|\/\*/)
        if (!at || line ~ /^#include/) {
            flush()
            last_column = 0
            return
        }
        if (substr(line, 1, at - 1) !~ /^ *$/) flush()
        open = substr(line, at, 2) == "/*"
        opened = at
        line = substr(line, at + 2)
    } else {
        sub(/^ *\* ?/, " ", line)
    }
    end = open ? index(line, "*/") : 0
    comment_text(end ? substr(line, 1, end - 1) : line, opened)
    if (!end) return
    open = 0
    flush()
    if (match(substr(line, end + 2), /\/\/|\/\*/)) header_line(substr(line, end + 2))
}

# Adjacent literals are one text, with or without a macro between them.
function source_line(line,   at, mark, text) {
    if (line ~ /^ *#/) return
    while (line != "") {
        if (open) {
            at = index(line, "*/")
            if (!at) return
            open = 0
            line = substr(line, at + 2)
            continue
        }
        at = match(line, /"|'|\/\/|\/\*/)
        if (!at) {
            between(line)
            return
        }
        between(substr(line, 1, at - 1))
        mark = substr(line, at, RLENGTH)
        if (mark == "//") return
        line = substr(line, at + RLENGTH)
        if (mark == "/*") {
            open = 1
        } else {
            text = ""
            while (mark == "\"" ? match(line, /^[^"\\]+|^\\./) : match(line, /^[^'\\]+|^\\./)) {
                text = text substr(line, 1, RLENGTH)
                line = substr(line, RLENGTH + 1)
            }
            line = substr(line, 2)
            if (mark == "\"") literal(text)
        }
    }
}
function between(code) {
    if (code ~ /^ *[A-Z][A-Za-z0-9_]+ *$/) {
        if (sentence != "") sentence = sentence "N" # as of "%" PRIu64
        spaced = 0
    } else if (code !~ /^ *$/) {
        flush()
    }
}
# A line of a text ends a sentence, unless the next line begins with a small letter. A literal continues the last word
# of the literal in front of it, unless a space is between them.
function literal(text,   lines, count, i) {
    kind = "text"
    gsub(/\\"/, "\"", text)
    gsub(/\\t/, " ", text)
    gsub(/\\[nv]/, "\n", text)
    if (text ~ /^[^ \n]/ && sentence != "" && !spaced) {
        match(text, /^[^ \n]+/)
        sentence = sentence substr(text, 1, RLENGTH)
        text = substr(text, RLENGTH + 1)
    }
    spaced = text ~ /[ \n]$/
    count = split(text, lines, "\n")
    for (i = 1; i <= count; i++) {
        if (i > 1 && lines[i] !~ /^[a-z]/) flush()
        add(lines[i])
    }
}

function name_line(line) {
    if (!match(line, /TEST_CASE\( *[a-z0-9_]+|^def [a-z0-9_]+\(browser|NAME [a-z_]+\.[a-z0-9_]+/)) return
    line = substr(line, RSTART, RLENGTH)
    sub(/^TEST_CASE\( *|^def |^NAME [a-z_]+\./, "", line)
    sub(/\(browser$/, "", line)
    gsub(/_/, " ", line)
    block("name", line)
}

BEGIN { fewest = 1 }
FNR == 1 {
    flush()
    file = FILENAME
    fenced = code = in_list = open = last_column = 0
    blank = 1
    what = "source"
    if (file ~ /\.md$/) what = "page"
    else if (file ~ /^include\//) what = "header"
    else if (file ~ /^tests\//) what = "names"
    fewest = what == "source" ? 3 : 1
}
what == "page" { page_line($0) }
what == "header" { header_line($0) }
what == "source" { source_line($0) }
what == "names" { name_line($0) }
END { flush() }
