import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const log = fileURLToPath(new URL('../../../src/platform/log.ts', import.meta.url))

/** Starts a program with this code, which logs by `log`. */
function start(code: string, stderr: 'pipe' | number = 'pipe') {
  const program = `import { createLog } from ${JSON.stringify(log)}\nconst log = createLog('info')\n${code}`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['pipe', 'pipe', stderr],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Returns what the program prints, once it has ended. */
async function outputOf({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error('no pipe')
  return text(stdout)
}

const aWhile = 'await new Promise((resolve) => setTimeout(resolve, 20))'

test.skipIf(process.platform !== 'linux')(
  'lines that can not be written interrupt nothing, not even the exit',
  async () => {
    // Each write fails, as to a file on a full disk, or to a terminal that was closed.
    const full = openSync('/dev/full', 'w')
    onTestFinished(() => closeSync(full))
    const lines = `log.info('a'); log.info('b')`
    const child = start(`${lines}; ${aWhile}; ${lines}; process.stdout.write('alive'); ${lines}; process.exit(3)`, full)
    expect(await outputOf(child)).toBe('alive')
    expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(3)
  },
)

test('a reader that is gone interrupts nothing, not even the exit', async () => {
  const child = start(`await new Promise((resolve) => process.stdin.once('end', resolve).resume())
    log.info('a'); log.info('b'); process.stdout.write('alive'); process.exit(3)`)
  child.stderr?.destroy()
  child.stdin?.end()
  expect(await outputOf(child)).toBe('alive')
  expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(3)
})

test.each([3, 2000])('the exit writes all of %d lines, in order', async (count) => {
  const child = start(`for (let n = 0; n < ${count}; n += 1) log.info({ n }, 'line ä')\nprocess.exit(0)`)
  const lines = (await text(child.stderr as Readable)).trimEnd().split('\n')
  const numbers = lines.map((line) => (JSON.parse(line) as { n: number }).n)
  expect(numbers).toEqual(Array.from({ length: count }, (_, n) => n))
})
