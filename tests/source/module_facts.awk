# What a module shows: "parameter NAME", "default NAME, VALUE" where a header of modules has one, "socket NAME",
# "statistic NAME, UNIT", "figure NAME, BITS", "report ID" of the ids that are put together, "response NAME". Arguments:
# the public headers, and the files that implement the module.

{
    line = $0
    sub(/\/\/.*/, "", line)
    line = without_comments(line)
    if (FILENAME ~ /^include/) headers = headers line "\n"
    if (FILENAME !~ /^include/ || FILENAME ~ "/" module "[.]hpp$") own = own line "\n"
}

# `comment`: within one that an earlier line has begun.
function without_comments(line,   at, kept) {
    while (line != "") {
        at = index(line, comment ? "*/" : "/*")
        if (!comment) kept = kept (at ? substr(line, 1, at - 1) : line)
        if (!at) break
        comment = !comment
        line = substr(line, at + 2)
    }
    return kept
}

# What stands between the braces of a class or struct; "", and not `found`, where there is none. `opening` is its line.
function body_of(kind, name, text,   depth, i, c) {
    opening = ""
    found = match(text, "(^|[^a-z_])" kind " " name "( *:[^;{]*)?[ \n]*[{]")
    if (!found) return ""
    opening = substr(text, RSTART, RLENGTH)
    text = substr(text, RSTART + RLENGTH)
    depth = 1
    for (i = 1; depth > 0 && i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "{") depth++
        if (c == "}") depth--
    }
    return substr(text, 1, i - 2)
}

# Tells of each member that is declared in a body: of parameters all, of sockets what is public.
function declarations(what, text,   i, c, depth, statement, private) {
    private = what == "socket"
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "{") depth++
        else if (c == "}") {
            depth--
            if (!depth && is_block(statement)) statement = ""
        } else if (!depth && c == ";") {
            if (!private) declared(what, statement)
            statement = ""
        } else if (!depth && c == ":" && match(statement, /(public|private|protected)[ \n]*$/)) {
            private = substr(statement, RSTART, 6) != "public"
            statement = ""
        } else if (!depth) statement = statement c
    }
}

function without(text, pattern) {
    while (match(text, pattern)) text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
    return text
}

function is_block(statement) {
    statement = without(statement, "<[^<>]*>")
    return statement ~ /[(]/ || statement ~ /^[ \n]*(struct|class|enum|union)/
}

function declared(what, statement,   parts, n, i, type, name, value) {
    statement = without(statement, "<[^<>]*>")
    gsub(/\[[^]]*\]/, "", statement)
    gsub(/[ \n]+/, " ", statement)
    if (statement ~ /[(]/ || statement ~ /^ *(using|typedef|friend|static|template|enum|struct|class|virtual)/) return
    n = split(statement, parts, ",")
    for (i = 1; i <= n; i++) {
        value = ""
        if (match(parts[i], / *= */)) {
            value = substr(parts[i], RSTART + RLENGTH)
            parts[i] = substr(parts[i], 1, RSTART - 1)
        }
        if (!match(parts[i], /[a-z_0-9]+ *$/)) continue
        name = substr(parts[i], RSTART)
        gsub(/ /, "", name)
        if (i == 1) type = substr(parts[i], 1, RSTART - 1)
        gsub(/[ *&]+$/, "", type)
        if (type == "" || (what == "socket" && type !~ /(_socket|control_window|sc_in)$/)) continue
        print what " " name
        if (what == "parameter" && value != "") print "default " name ", " value
    }
}

# The members of a struct of parameters, and of what it is made from.
function parameters(text,   from, base) {
    declarations("parameter", text)
    if (!match(opening, /: *[a-z_:]+/)) return
    base = substr(opening, RSTART, RLENGTH)
    sub(/: */, "", base)
    if (sub(/::config$/, "", base)) parameters(body_of("struct", "config", body_of("class", base, headers)))
    else parameters(body_of("struct", base, headers))
}

function statistics(text) {
    while (match(text, /[{]"[a-z_0-9]+",[^"{}]*,[ \n]*"[a-z ]+",[ \n]*"/)) {
        split(substr(text, RSTART, RLENGTH), quoted, "\"")
        print "statistic " quoted[2] ", " quoted[4]
        text = substr(text, RSTART + RLENGTH)
    }
}

# A figure is a member, one of a list, or one that a memory or a group of links gives the first part of its name.
function figures(text,   shape, found, quoted, bits, member) {
    shape = "([{][*]this, |add[(][a-z_]+, |emplace_back[(][a-z_]+, |[a-z_]+[(]name [+] )\"[a-z0-9_.]+\"(, [0-9]+)?"
    for (; match(text, shape); text = substr(text, RSTART + RLENGTH)) {
        found = substr(text, RSTART, RLENGTH)
        split(found, quoted, "\"")
        bits = match(found, /[0-9]+$/) ? substr(found, RSTART) : 4 # unit_load
        if (match(found, /[(]name [+]/)) {
            member = substr(found, 1, RSTART - 1)
            match(own, member "[.]c_str[(][)], [0-9]+")
            bits = substr(own, RSTART + length(member) + 10, RLENGTH - length(member) - 10)
            quoted[2] = "GROUP" quoted[2]
        } else if (found ~ /^add/) quoted[2] = "MEMORY_" quoted[2]
        print "figure " quoted[2] ", " bits
        match(text, shape)
    }
}

function responses(text) {
    while (match(text, /TLM_[A-Z_]+_ERROR_RESPONSE/)) {
        print "response " substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
    }
}

END {
    class = body_of("class", module, headers)
    is_memory = opening ~ /memory_module/
    if (opening ~ /public resettable/ || is_memory) print "socket reset_in"
    if (class ~ /control_window control;/) {
        print "report /tlmalloc/" module "/control"
        print "report /tlmalloc/" module "/config"
    }
    declarations("socket", class)
    settings = body_of("struct", "config", class)
    if (!found) settings = body_of("struct", "memory_config", class)
    if (found) parameters(settings)
    if (is_memory) {
        memory = body_of("class", "memory_module", headers)
        declarations("socket", memory)
        figures(memory)
    }
    if (own ~ /refuse_config[(]/) print "report /tlmalloc/" module "/config"
    statistics(own)
    figures(own)
    responses(own)
}
