import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const module = fileURLToPath(new URL('../../../src/platform/process/save-memory.ts', import.meta.url))

/** Has garbage all the time and, until it is told to stop, much that is in use. */
const worker = `
  import { parentPort } from 'node:worker_threads'
  const text = '[' + '{},'.repeat(20_000) + '{}]'
  const kept = []
  let isLarge = true
  parentPort.on('message', () => (isLarge = false))
  setInterval(() => {
    kept.push(JSON.parse(text))
    if (!isLarge) kept.splice(0, kept.length - 1)
  }, 2)`

/** Ends when its resident memory was over the limit and is less than half of the most that it was. */
const program = `
  import { Worker } from 'node:worker_threads'
  import { saveMemory } from ${JSON.stringify(module)}
  saveMemory({ started: Promise.resolve(() => 0), leastLimitMb: 100 })
  const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(worker)})))
  const mb = () => Math.round(process.memoryUsage.rss() / 1024 ** 2)
  let most = 0
  setInterval(() => {
    if (mb() > 250 && mb() > most) worker.postMessage('enough')
    most = Math.max(most, mb())
    if (most <= 250 || mb() >= most / 2) return
    console.log(JSON.stringify({ most, left: mb() }))
    process.exit(0)
  }, 50)`

/**
 * Runs a program, and returns what it prints as JSON. `changed` has the flags of V8 that were set instead of setting them, and the
 * process is idle until the program sets `isBusy`.
 */
async function flagsOf(program: string, flags: readonly string[] = []): Promise<unknown> {
  const whole = `
    import v8 from 'node:v8'
    import { syncBuiltinESMExports } from 'node:module'
    import { setTimeout } from 'node:timers/promises'
    const changed = []
    v8.setFlagsFromString = (flag) => changed.push(flag)
    syncBuiltinESMExports()
    let [isBusy, used] = [false, 0]
    process.cpuUsage = () => ({ user: (used += isBusy ? 1e6 : 0), system: 0 })
    const { saveMemory, saveMemoryFor } = await import(${JSON.stringify(module)})
    ${program}`
  const args = [...flags, '--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', whole]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 })
  return JSON.parse(stdout)
}

// Tests that wait most of the time wait together.
test.concurrent.each([
  ['stay as they are', ['--heap-growing-percent=100'], 0],
  ['stay as they are, however they are written', ['--optimize_for_size'], 0],
  ['stay as they are, whichever it is', ['--incremental-marking-hard-trigger=50'], 0],
  ['are set otherwise', [], 3],
])("the operator's flags of V8 %s", async (_, flags, count) => {
  const program = `
    saveMemory({ started: Promise.resolve(() => 0), leastLimitMb: 1 })
    await setTimeout(1000)
    console.log(JSON.stringify(changed))`
  expect(await flagsOf(program, flags)).toHaveLength(count)
})

test.concurrent('memory is saved after the start until the process is busy', async () => {
  const program = `
    const { promise: started, resolve } = Promise.withResolvers()
    saveMemory({ started })
    const end = performance.now() + 40_000
    const next = async () => {
      while (performance.now() < end && changed.length === 0) await setTimeout(10)
      return changed.splice(0)
    }
    // It has nothing to do, and does not count as idle yet.
    await setTimeout(1500)
    const whileStarting = changed.splice(0)
    resolve(() => 0)
    const whileIdle = await next()
    isBusy = true
    console.log(JSON.stringify({ whileStarting, whileIdle, busy: await next() }))`
  expect(await flagsOf(program)).toEqual({
    whileStarting: ['--heap-growing-percent=150'],
    whileIdle: ['--optimize-for-size', '--incremental-marking-hard-trigger=60'],
    busy: ['--no-optimize-for-size', '--incremental-marking-hard-trigger=0'],
  })
})

test.concurrent('a busy process saves memory for as long, and to the degree, as it was asked to', async () => {
  const program = `
    isBusy = true
    saveMemory({ started: Promise.resolve(() => 0), leastLimitMb: 10_000 })
    await setTimeout(500)
    changed.splice(0)
    const beginning = performance.now()
    saveMemoryFor(1500, 'most')
    saveMemoryFor(1, 'most')
    saveMemoryFor(3000, 'some')
    const end = performance.now() + 20_000
    const next = async () => {
      while (performance.now() < end && changed.length < 2) await setTimeout(10)
      return { flags: changed.splice(0), ms: performance.now() - beginning }
    }
    console.log(JSON.stringify([await next(), await next(), await next()]))`
  const [most, some, none] = (await flagsOf(program)) as { readonly flags: string[]; readonly ms: number }[]
  expect(most?.flags).toEqual(['--optimize-for-size', '--incremental-marking-hard-trigger=10'])
  expect(some?.flags).toEqual(['--optimize-for-size', '--incremental-marking-hard-trigger=60'])
  expect(some?.ms).toBeGreaterThanOrEqual(1500)
  expect(none?.flags).toEqual(['--no-optimize-for-size', '--incremental-marking-hard-trigger=0'])
  expect(none?.ms).toBeGreaterThanOrEqual(3000)
})

test.concurrent.each([
  [0, 0, ['--optimize-for-size', '--incremental-marking-hard-trigger=25']],
  [6000, 6000, []],
  // They are about to connect again.
  [6000, 0, []],
])('300 MB are too much, but not for %d devices, of which %d are still connected', async (before, after, expected) => {
  const program = `
    isBusy = true
    let links = ${before}
    saveMemory({ started: Promise.resolve(() => links), leastLimitMb: 280 })
    await setTimeout(500)
    links = ${after}
    changed.splice(0)
    const memory = Buffer.alloc(300 * 1024 ** 2, 1)
    const end = performance.now() + (${before} === 0 ? 20_000 : 1000)
    while (performance.now() < end && changed.length === 0) await setTimeout(10)
    console.log(JSON.stringify(changed), memory.length < 0 ? '' : ' ')`
  expect(await flagsOf(program)).toEqual(expected)
})

test.runIf(process.platform === 'linux')(
  'the memory of a burst in another thread goes back to the system although that thread goes on',
  async () => {
    const args = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=16', '--input-type=module']
    const { stdout } = await promisify(execFile)(process.execPath, [...args, '--eval', program], { timeout: 60_000 })
    const { most, left } = JSON.parse(stdout) as { readonly most: number; readonly left: number }
    expect(most).toBeGreaterThan(250)
    expect(left).toBeLessThan(most / 2)
  },
  90_000,
)

test('a heap that was allowed to grow for long is collected as soon as memory is to be saved', async () => {
  const program = `
    import { saveMemory } from ${JSON.stringify(module)}
    const text = '[' + '{},'.repeat(20_000) + '{}]'
    const kept = Array.from({ length: 100 }, () => JSON.parse(text))
    // The next collection may now come when the heap is four times as large.
    globalThis.gc()
    const mb = () => Math.round(process.memoryUsage.rss() / 1024 ** 2)
    const before = mb()
    let [most, count] = [0, 0]
    saveMemory({ started: Promise.resolve(() => 0), leastLimitMb: before + 10 })
    setInterval(() => {
      kept.push(JSON.parse(text))
      kept.shift()
      most = Math.max(most, mb())
      if ((count += 1) < 600) return
      console.log(JSON.stringify({ before, most }))
      process.exit(0)
    }, 5)`
  const args = [
    '--disable-warning=ExperimentalWarning',
    '--expose-gc',
    '--max-semi-space-size=16',
    '--input-type=module',
  ]
  const { stdout } = await promisify(execFile)(process.execPath, [...args, '--eval', program], { timeout: 60_000 })
  const { before, most } = JSON.parse(stdout) as { readonly before: number; readonly most: number }
  expect(most / before).toBeLessThan(2.3)
}, 60_000)
