import { readFileSync } from 'node:fs'

/** Returns the command lines of the processes that a process has started, word by word. Linux only. */
export function programsOf(pid = 0): readonly string[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  return children.flatMap((child) => {
    try {
      return readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0')
    } catch {
      return [] // It has ended meanwhile.
    }
  })
}
