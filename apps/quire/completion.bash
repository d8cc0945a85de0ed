# Completion of quire's commands, flags and files for bash. Both lists come from the program's help.
_quire() {
  local cur=${COMP_WORDS[COMP_CWORD]} words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words=$(quire help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
  elif [ "${COMP_WORDS[1]}" = help ] && [ "$COMP_CWORD" -eq 2 ]; then
    words=$(quire help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
  elif [ "${COMP_WORDS[1]}" = eval ] && [ "$COMP_CWORD" -eq 2 ]; then
    words=$(quire help eval 2>/dev/null | sed -n '/^Measures:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
  elif [[ $cur == -* ]]; then
    local command=("${COMP_WORDS[1]}")
    [ "${command[0]}" = eval ] && command+=("${COMP_WORDS[2]}")
    words=$(quire help "${command[@]}" 2>/dev/null |
      grep -oE '^  (-.,|   ) --[][a-z-]+' | sed -E 's/^.{6}//; s/^--\[no-\](.*)/--\1 --no-\1/')
  fi
  if [ -n "$words" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}
complete -o filenames -F _quire quire
