import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { completionScript } from './completion.ts'
import { createProgram } from './program.ts'

const run = promisify(execFile)
const program = createProgram({
  terminal: { stdout: process.stdout, stderr: process.stderr },
  env: {},
  interrupted: new AbortController().signal,
  opened: [],
})

/** Completes the last of the words as bash does. */
async function complete(...words: string[]): Promise<string[]> {
  const quoted = words.map((word) => `'${word}'`).join(' ')
  const script = `${completionScript(program, 'bash')}
    COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _signalbox; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = await run('bash', ['-c', script])
  return stdout.split('\n').filter((word) => word !== '')
}

it('completes commands, their commands, and options behind arguments', async () => {
  expect(await complete('signalbox', 'dev')).toEqual(['devices'])
  expect(await complete('signalbox', 'devices', 'lo')).toEqual(['locate'])
  expect(await complete('signalbox', 'upgrade', 'start', '2.0.0', '--wa')).toEqual(['--watch'])
  expect(await complete('signalbox', '--json', 'sites', '--o')).toEqual(['--org'])
})

it('knows every command in zsh and fish too', () => {
  for (const shell of ['zsh', 'fish'] as const)
    for (const word of ['login', 'devices', 'restart', 'approve', 'completion'])
      expect(completionScript(program, shell)).toContain(word)
})
