# SPDX-License-Identifier: MIT
# Completion of healerctl for bash: commands, options, and the services, groups and jobs that the daemon knows.

# Offers the lines of standard input that begin with the current word, quoted for the shell. The word may have an open
# quote.
_healerctl_offer() {
  local line begun=$1
  case $begun in
    \'* | \"*) begun=${begun:1} ;;
    *) begun=${begun//\\/} ;;
  esac
  while IFS= read -r line; do
    [[ -n $line && $line == "$begun"* ]] || continue
    case $1 in
      \'*) [[ $line == *\'* ]] || COMPREPLY+=("$line") ;;  # bash closes the quote that was opened
      \"*) [[ $line == *[\"\$\`\\]* ]] || COMPREPLY+=("$line") ;;
      *) COMPREPLY+=("$(printf '%q' "$line")") ;;
    esac
  done
}

# Asks the daemon, but does not wait long for an answer.
_healerctl_ask() {
  timeout 2 "${_healerctl_words[@]}" "$@" 2>/dev/null
}

# The names of the workflows; they contain no blanks.
_healerctl_workflows() {
  _healerctl_ask healing report | sed -n '1d;s/^\([^ ]*\)  .*/\1/p'
}

# The numbers of healings, and their targets.
_healerctl_healings() {
  _healerctl_ask healing status | sed -n 's/^\([0-9][0-9]*\)  *\(\([^ ]\| [^ ]\)*\).*/\1\n\2/p' | awk 'NF && !seen[$0]++'
}

_healerctl() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local everywhere="--help --socket --server --user --password-file --cacert --timeout --json --color --no-color"
  local -a _healerctl_words=("${COMP_WORDS[0]}")
  local command="" second="" index option value options=""
  COMPREPLY=()

  for ((index = 1; index < COMP_CWORD; ++index)); do
    case ${COMP_WORDS[index]} in
      --socket | --server | --user | --password-file | --cacert)
        option=${COMP_WORDS[index]}
        ((++index))
        [[ ${COMP_WORDS[index]} == "=" ]] && ((++index))  # bash splits --socket=PATH into three words
        value=${COMP_WORDS[index]}
        # And a URL at its colons.
        while [[ $option == --server && ${COMP_WORDS[index + 1]} == : ]]; do
          value+=:${COMP_WORDS[index + 2]}
          ((index += 2))
        done
        _healerctl_words+=("$option" "$value")
        ;;
      --timeout)
        ((++index))
        [[ ${COMP_WORDS[index]} == "=" ]] && ((++index))
        ;;
      -*) ;;
      *)
        if [[ -z $command ]]; then
          command=${COMP_WORDS[index]}
        elif [[ -z $second ]]; then
          second=${COMP_WORDS[index]}
        fi
        ;;
    esac
  done

  case $previous in
    -g | --group)
      _healerctl_offer "$current" < <(_healerctl_ask names --groups)
      return
      ;;
    --socket | --password-file | --cacert | --state | --script | --rules | --monit | -o | --output)
      compopt -o default 2>/dev/null
      return
      ;;
    --override)
      _healerctl_offer "$current" < <(printf '%s\n' limit cooldown pause)
      return
      ;;
    --with)
      _healerctl_offer "$current" < <(_healerctl_workflows)
      return
      ;;
    -n | --server | --user | --lines | --since | --after | --until | --reason | --interval | --timeout | --within | --plan | --text) return ;;
  esac

  case $command in
    "")
      _healerctl_offer "$current" < <(printf '%s\n' summary status explain history output top jobs events report graph names ping \
        start stop restart monitor unmonitor validate pause resume ack heal approve reject cancel healing accept lists forget beat event open diff reload quit doctor probe procmatch simulate replay fmt lint import compare help version)
      options="--version"
      ;;
    summary | status) options="--failed --exit-code --group" ;;
    graph) options="--dot --group" ;;
    pause | ack) options="--reason --group" ;;
    heal) options="--with --override --group" ;;
    approve) options="--plan" ;;
    explain) options="--group --all" ;;
    start | stop | restart | monitor | unmonitor | validate | resume) options="--group" ;;
    accept) options="--pid --group" ;;
    history) options="--since --after --lines --ids --follow --group --state" ;;
    names) options="--groups" ;;
    output) options="--follow" ;;
    top) options="--interval --batch" ;;
    simulate) options="--script --actions" ;;
    replay) options="--since --until --rules --throughout --state --all" ;;
    reload) options="--confirm" ;;
    beat) options="--text" ;;
    event) options="--dry-run" ;;
    open) options="--print" ;;
    doctor) options="--rules" ;;
    fmt) options="--check --write --diff" ;;
    lint) options="--offline" ;;
    import) options="--output --force" ;;
    compare) options="--monit --state --within" ;;
  esac
  if [[ $current == -* ]]; then
    _healerctl_offer "$current" < <(printf '%s\n' $options $everywhere)
    return
  fi

  case $command in
    history)
      if [[ -z $second ]]; then
        _healerctl_offer "$current" < <(_healerctl_ask names)
        _healerctl_offer "$current" < <(_healerctl_ask names --groups)
      fi
      ;;
    output)
      if [[ -z $second ]]; then
        _healerctl_offer "$current" < <(_healerctl_ask names)
        _healerctl_offer "$current" < <(_healerctl_ask jobs | sed -n 's/^\([0-9][0-9]*\) .*/\1/p')
      fi
      ;;
    summary | status | explain | graph | start | stop | restart | monitor | unmonitor | validate | pause | resume | ack | accept | heal)
      _healerctl_offer "$current" < <(_healerctl_ask names)
      [[ $command == @(explain|graph|summary|status) ]] || _healerctl_offer "$current" <<<all
      [[ $command == pause ]] && _healerctl_offer "$current" <<<for
      ;;
    beat)
      if [[ -z $second ]]; then
        _healerctl_offer "$current" < <(_healerctl_ask names)
      else
        _healerctl_offer "$current" < <(printf '%s\n' start fail exit)
      fi
      ;;
    events) _healerctl_offer "$current" < <(_healerctl_ask names) ;;
    event)
      if [[ -z $second ]]; then
        _healerctl_offer "$current" < <(_healerctl_ask names; echo again)
      else
        compopt -o default 2>/dev/null
      fi
      ;;
    report)
      [[ -z $second ]] &&
        _healerctl_offer "$current" < <(printf '%s\n' up down unknown initialising unmonitored total)
      ;;
    jobs)
      if [[ -z $second ]]; then
        _healerctl_offer "$current" < <(printf '%s\n' follow cancel)
      elif [[ $second == @(follow|cancel) ]]; then
        _healerctl_offer "$current" < <(_healerctl_ask jobs | sed -n 's/^\([0-9][0-9]*\) .*/\1/p')
      fi
      ;;
    approve | reject) [[ -z $second ]] && _healerctl_offer "$current" < <(_healerctl_healings) ;;
    cancel)
      if [[ -z $second ]]; then
        _healerctl_offer "$current" < <({ _healerctl_healings; _healerctl_ask jobs | sed -n 's/^\([0-9][0-9]*\) .*/\1/p'; } | sort -u)
      fi
      ;;
    healing)
      if [[ -z $second ]]; then
        _healerctl_offer "$current" < <(printf '%s\n' status report reset)
      elif [[ $second == reset ]]; then
        _healerctl_offer "$current" < <(_healerctl_workflows)
      fi
      ;;
    help)
      _healerctl_offer "$current" < <(printf '%s\n' summary status explain history output top jobs events report graph names ping \
        start stop restart monitor unmonitor validate pause resume ack heal approve reject cancel healing accept lists forget beat event open diff reload quit doctor probe procmatch simulate replay fmt lint import compare version)
      ;;
    simulate | fmt | lint | import) compopt -o default 2>/dev/null ;;
  esac
  return 0
}

complete -F _healerctl healerctl
