import type { Command } from 'commander'

const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

export function isShell(name: string): name is Shell {
  return SHELLS.some((shell) => shell === name)
}

/** The words that may follow the words of each command, by these words: `''` is the program itself. */
function wordsOf(program: Command): ReadonlyMap<string, readonly string[]> {
  const words = new Map<string, readonly string[]>()
  const add = (command: Command, path: readonly string[]): void => {
    const options = [...command.options, ...(command === program ? [] : program.options)]
    words.set(path.join(' '), [
      ...command.commands.map((each) => each.name()),
      ...options.flatMap(({ long }) => (long === undefined || long === null ? [] : [long])),
      '--help',
    ])
    for (const each of command.commands) add(each, [...path, each.name()])
  }
  add(program, [])
  return words
}

/** Returns a script that teaches the shell the commands and options of the program. */
export function completionScript(program: Command, shell: Shell): string {
  const cases = [...wordsOf(program)].map(([path, words]) => `    '${path}') words='${words.join(' ')}' ;;`).join('\n')
  if (shell === 'fish') return fish(program)
  const bash = `_signalbox() {
  local path='' word words='' place
  for ((place = 1; place < COMP_CWORD; place++)); do
    word="\${COMP_WORDS[place]}"
    [[ $word == -* ]] || path="\${path:+$path }$word"
  done
  # Arguments are no commands: the longest known beginning counts.
  while true; do
    case "$path" in
${cases}
    esac
    [[ -n $words || -z $path ]] && break
    [[ $path == *' '* ]] && path="\${path% *}" || path=''
  done
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _signalbox signalbox`
  return shell === 'bash' ? bash : `autoload -U +X bashcompinit && bashcompinit\n${bash}`
}

function fish(program: Command): string {
  const lines = [...wordsOf(program)].flatMap(([path, words]) => {
    const seen = path === '' ? [] : path.split(' ')
    const condition = [
      ...seen.map((word) => `__fish_seen_subcommand_from ${word}`),
      ...(seen.length === 0 ? ['__fish_use_subcommand'] : []),
    ].join('; and ')
    return words.map((word) =>
      word.startsWith('--')
        ? `complete -c signalbox -n '${condition}' -l ${word.slice(2)}`
        : `complete -c signalbox -f -n '${condition}' -a ${word}`,
    )
  })
  return lines.join('\n')
}
