# SPDX-License-Identifier: MIT
# Completion of healerd for bash: its options, and the files that they take.

_healerd() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  case $previous in
    --dialect)
      COMPREPLY=($(compgen -W "healer monit monit-5.33 monit-5.34" -- "$current"))
      return
      ;;
    -l)
      compopt -o default 2>/dev/null
      COMPREPLY=($(compgen -W "syslog" -- "$current"))
      return
      ;;
    -c | -p | -s | -H | --socket | --with)
      compopt -o default 2>/dev/null
      return
      ;;
    -d | -g | --grace) return ;;
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "-B -H -I -V -c -d -g -h -l -p -s -t -v --dialect --grace --help --id --json --offline --resetid
      --shadow --socket --strict --verbose --version --with" -- "$current"))
    return
  fi
  [[ " ${COMP_WORDS[*]} " == *" -t "* ]] && compopt -o default 2>/dev/null
  return 0
}

complete -F _healerd healerd
