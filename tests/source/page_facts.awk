# What the page of a module says, as module_facts.awk has it, from the first cells of its tables; and "!..." for a
# parameter whose range or default is not that of its key. configs/keys.md comes first, then the page.

function cell(number,   text) {
    text = cells[number]
    gsub(/^ +| +$/, "", text)
    return text
}
function name(text) {
    gsub(/`/, "", text)
    return text
}

FNR == 1 { files++ }
/^## / { section = substr($0, 4) }
!/^\|/ || /^\|[-|: ]+\|$/ { next }
{
    line = $0
    gsub(/\\\|/, "or", line)
    split(line, cells, "|")
}
files == 1 {
    if (cell(2) ~ /^`[a-z0-9_.]+`$/) range[cell(2)] = cell(3)
    if (cell(2) ~ /^`[a-z0-9_.]+`$/) by_default[cell(2)] = cell(4)
    next
}
cell(2) !~ /^`/ { next }
section == "Parameters" {
    parameter = name(cell(2))
    if (parameter !~ /[.]/) print "parameter " parameter # else a part of one
    key = cell(6)
    if (!(key in range)) {
        print "default " parameter ", " cell(5)
        next
    }
    if (cell(4) != range[key] && cell(4) != "as the key") print "!" parameter ": the range of " key " is " range[key]
    if (cell(5) != by_default[key]) print "!" parameter ": the default of " key " is " by_default[key]
}
section == "Sockets" { print "socket " name(cell(2)) }
section == "Statistics" { print "statistic " name(cell(2)) ", " cell(3) }
section == "Figures" { print "figure " name(cell(2)) ", " cell(3) }
section == "Errors" && index(cell(2), "/tlmalloc/" module "/") { print "report " name(cell(2)) }
section == "Errors" && cell(2) ~ /TLM_/ { print "response " name(cell(2)) }
