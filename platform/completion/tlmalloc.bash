# Completion of tlmalloc for bash. Commands and options are what the program's --help says.

_tlmalloc() {
    local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]-} cur=${COMP_WORDS[COMP_CWORD]} words
    if ((COMP_CWORD == 1)); then
        words="--help --version $("$program" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p')"
    elif [[ $command == help ]]; then
        words=$("$program" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p')
    elif [[ $cur == -* ]]; then
        words=$("$program" "$command" --help 2>/dev/null | sed -n 's/^ \{2,6\}\(-., \)\{0,1\}\(--[a-z-]*=\{0,1\}\).*/\2/p')
    else
        [[ $cur == = ]] && cur=
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        compopt -o filenames 2>/dev/null
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
}
complete -F _tlmalloc tlmalloc
