import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const source = (path: string): string => JSON.stringify(fileURLToPath(new URL(`../../../src/${path}`, import.meta.url)))

/** Runs a program that may have 100 files open, and returns the line of JSON that it prints; `fill` opens the rest of them. */
async function runWithin100Files(program: string): Promise<unknown> {
  const whole = `
    import { openSync } from 'node:fs'
    import { setTimeout } from 'node:timers/promises'
    const fill = () => {
      try {
        for (;;) openSync('/dev/null')
      } catch {}
    }
    ${program}`
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', whole]
  const limited = ['-c', 'ulimit -n 100 && exec "$0" "$@"', process.execPath, ...args]
  const { stdout } = await promisify(execFile)('sh', limited, { timeout: 60_000 })
  return JSON.parse(stdout)
}

test.concurrent('a server without a file to spare goes on, though it can not read its memory', async () => {
  const program = `
    const { saveMemory } = await import(${source('platform/process/save-memory.ts')})
    saveMemory({ started: Promise.resolve(() => 0) })
    fill()
    await setTimeout(700)
    console.log('"alive"')`
  expect(await runWithin100Files(program)).toBe('alive')
})

test.concurrent('processes that can not be started for lack of a file refuse their work', async () => {
  const program = `
    const { createApartProcess } = await import(${source('app/apart/start-apart-process.ts')})
    const { runDecoder } = await import(${source('platform/images/run-decoder.ts')})
    fill()
    const wakes = { connect: () => ({ limitTo() {}, disconnect() {} }) }
    const lines = []
    const log = { error: (_, line) => lines.push(line) }
    const apart = createApartProcess({ wakes, log }, { readTime: () => null })
    const caller = { principal: { adminId: '1', privileges: [] } }
    const { refusal } = await apart.run({ operation: 'getOrg', kind: '', caller, params: {}, query: {}, url: '', body: null })
    const decoder = await runDecoder({ path: '', shrink: null, memoryBytes: 1 }, 1).catch(({ code }) => code)
    console.log(JSON.stringify([refusal.code, lines, decoder]))`
  expect(await runWithin100Files(program)).toEqual([
    'unavailable',
    ['the process of expensive requests ended'],
    'EMFILE',
  ])
})
