import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, mkdir, readFile, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

const SCRIPTS = fileURLToPath(new URL('../../../scripts/', import.meta.url))

/** Prints its process id and each signal; ends on request, or when the runner has ended. */
const PROGRAM = `
const [code]: string[] = process.argv.slice(2)
if (code !== undefined) process.exit(Number(code))
process.on('disconnect', () => process.exit())
process.on('SIGTERM', () => { console.log('SIGTERM'); setTimeout(() => process.exit(), 50) })
console.log(process.pid)
`

/** Starts the pool, and prints the number of its threads. */
const THREADS = `
import { pbkdf2 } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
const nameOf = (id: string) => readFileSync('/proc/self/task/' + id + '/comm', 'utf8').trim()
pbkdf2('', '', 1, 32, 'sha256', () => {
  console.log(readdirSync('/proc/self/task').filter((id) => nameOf(id) === 'libuv-worker').length)
  process.exit()
})
`

/** Creates a folder with the real scripts, an npm that only logs its calls, and a program of a few lines. */
async function makeTree(): Promise<string> {
  const root = await temporaryDir()
  await cp(SCRIPTS, join(root, 'scripts'), { recursive: true })
  await mkdir(join(root, 'src/bin'), { recursive: true })
  await writeFile(join(root, 'src/bin/server.ts'), PROGRAM)
  await writeFile(join(root, 'package.json'), '{"type":"module"}')
  await writeFile(join(root, 'package-lock.json'), '{"packages":{"":{},"node_modules/a":{"version":"1.0.0"}}}')
  await writeFile(join(root, 'npm.js'), NPM)
  return root
}

const NPM = `
import { appendFileSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
appendFileSync('npm.log', process.argv[2] + '\\n')
console.log('npm talks')
mkdirSync('node_modules/node/bin', { recursive: true })
const node = 'node_modules/node/bin/node'
if (!existsSync(node)) setTimeout(() => symlinkSync(process.execPath, node), 300)
`

function run(root: string, args: readonly string[], more: Readonly<Record<string, string>> = {}): ChildProcess {
  const env = { PATH: process.env['PATH'], npm_execpath: join(root, 'npm.js'), ...more }
  const child = spawn(process.execPath, [join(root, 'scripts/run.mjs'), ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Starts the program and waits for its process id. */
async function start(root: string): Promise<{ runner: ChildProcess; pid: number; output: () => string }> {
  const runner = run(root, ['start'])
  let printed = ''
  runner.stdout?.on('data', (chunk) => (printed += String(chunk)))
  const pid = await waitUntil('the program runs', () => Number.parseInt(printed, 10) || null)
  return { runner, pid, output: () => printed }
}

/** Returns true if the process has ended, even if no process has reaped it yet. */
async function hasEnded(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch {
    return true // ESRCH: the process has ended.
  }
  return /^State:\s*Z/m.test(await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''))
}

test('two starts on a fresh clone install once, keep standard output clean and mirror the exit code', async () => {
  const root = await makeTree()
  const runners = [run(root, ['start', '7']), run(root, ['start', '7'])]
  const results = await Promise.all(
    runners.map(async (child) =>
      Promise.all([child.stdout === null ? 'none' : text(child.stdout), once(child, 'exit')]),
    ),
  )
  expect(results).toEqual([
    ['', [7, null]],
    ['', [7, null]],
  ])
  expect(await readFile(join(root, 'npm.log'), 'utf8')).toBe('ci\n')
  expect((await readdir(root)).filter((name) => name.startsWith('.install'))).toEqual([])
  await writeFile(join(root, 'package-lock.json'), '{"packages":{"":{},"node_modules/a":{"version":"2.0.0"}}}')
  await mkdir(join(root, 'node_modules/a'))
  expect(await once(run(root, ['start', '0']), 'exit')).toEqual([0, null])
  expect(await readFile(join(root, 'npm.log'), 'utf8')).toBe('ci\nci\n')
})

test('an installation by npm itself is accepted unchanged, and a lock of a dead process is ignored', async () => {
  const root = await makeTree()
  await mkdir(join(root, 'node_modules/node/bin'), { recursive: true })
  await symlink(process.execPath, join(root, 'node_modules/node/bin/node'))
  await writeFile(join(root, 'node_modules/.package-lock.json'), '{"packages":{"node_modules/a":{"version":"1.0.0"}}}')
  await writeFile(join(root, '.install.lock'), '4194305') // This is beyond the largest process id.
  const [code] = await once(run(root, ['start', '0']), 'exit')
  expect(code).toBe(0)
  expect(await readdir(root)).not.toContain('npm.log')
})

test.runIf(process.platform === 'linux')(
  'a program has eight threads for files, look-ups and hashes, or as many as the environment says',
  async () => {
    const root = await makeTree()
    await writeFile(join(root, 'src/bin/server.ts'), THREADS)
    const countThreads = async (env: Readonly<Record<string, string>>): Promise<string> => {
      const { stdout } = run(root, ['start'], env)
      return stdout === null ? 'none' : text(stdout)
    }
    expect(await countThreads({})).toBe('8\n')
    expect(await countThreads({ UV_THREADPOOL_SIZE: '5' })).toBe('5\n')
  },
)

test('a signal is forwarded once, however often it arrives', async () => {
  const { runner, output, pid } = await start(await makeTree())
  runner.kill('SIGTERM')
  runner.kill('SIGTERM')
  expect(await once(runner, 'exit')).toEqual([0, null])
  expect(output()).toBe(`${pid}\nSIGTERM\n`)
})

test('a program that is killed kills the runner in the same way', async () => {
  const { runner, pid } = await start(await makeTree())
  process.kill(pid, 'SIGKILL')
  expect(await once(runner, 'exit')).toEqual([null, 'SIGKILL'])
})

test('kill -9 of the runner leaves no program behind', async () => {
  const { runner, pid } = await start(await makeTree())
  runner.kill('SIGKILL')
  await waitUntil('the program has ended', () => hasEnded(pid))
})

test('an older Node.js is refused in one line, and nothing is installed', async () => {
  const root = await makeTree()
  const older = 'Object.defineProperty(process,"versions",{value:{...process.versions,node:"18.20.8"}})'
  const { stderr } = run(root, ['start'], {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(older)}`,
  })
  expect(stderr === null ? '' : await text(stderr)).toBe('signalbox: needs Node.js 20 or newer; this is 18.20.8\n')
  expect(await readdir(root)).not.toContain('npm.log')
})

test('a program runs in a folder that its user may not enter', async () => {
  const root = await makeTree()
  await writeFile(join(root, 'src/bin/server.ts'), "console.log('runs')")
  await chmod(root, 0o777)
  const closed = join(root, 'closed')
  await mkdir(closed, { mode: 0o700 })
  const program = ['-c', 'chmod 0 .; exec "$@"', 'sh', process.execPath, join(root, 'scripts/run.mjs'), 'start']
  const child = spawn('sh', program, {
    cwd: closed,
    env: { PATH: process.env['PATH'], npm_execpath: join(root, 'npm.js') },
    stdio: ['ignore', 'pipe', 'ignore'],
    // No folder is closed to root.
    ...(process.getuid?.() === 0 && { uid: 65534, gid: 65534 }),
  })
  expect(await text(child.stdout)).toBe('runs\n')
})

test('an unknown command ends with the usage in one line', async () => {
  const child = run(await makeTree(), ['nonsense'])
  const [complaint] = await Promise.all([child.stderr === null ? '' : text(child.stderr), once(child, 'exit')])
  expect(complaint).toMatch(/^signalbox: usage: [^\n]+\n$/)
})

/** Builds by copying its only source; fails if the source demands it. */
const BUILD = `
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
appendFileSync('builds.log', 'built\\n')
const source = readFileSync('web/index.html', 'utf8')
if (source === 'broken') process.exit(1)
writeFileSync(process.argv[2] + '/index.html', source)
`

test('builds the console at the first start and when its sources have changed, and starts without a new one', async () => {
  const root = await makeTree()
  await mkdir(join(root, 'web'))
  await writeFile(join(root, 'scripts/build-console.ts'), BUILD)
  const built = () => readFile(join(root, 'dist/console/index.html'), 'utf8')
  const builds = async () => (await readFile(join(root, 'builds.log'), 'utf8')).trim().split('\n').length
  const startOnce = async (source: string): Promise<string> => {
    await writeFile(join(root, 'web/index.html'), source)
    const runner = run(root, ['start', '0'])
    const { stderr } = runner
    if (stderr === null) throw new Error('no pipe')
    const [said] = await Promise.all([text(stderr), once(runner, 'exit')])
    expect(runner.exitCode).toBe(0)
    return said
  }

  await startOnce('first')
  expect(await built()).toBe('first')
  await startOnce('first')
  expect(await builds()).toBe(1)
  await startOnce('second')
  expect([await built(), await builds()]).toEqual(['second', 2])
  expect(await startOnce('broken')).toContain('the console could not be built')
  expect(await built()).toBe('second')
  expect(await readdir(join(root, 'dist'))).toEqual(['console'])
})

/** The build runs a program of its own; it fails if the source demands it. */
const SERVER_BUILD = `
import { readFileSync, writeFileSync } from 'node:fs'
const source = readFileSync('src/source.txt', 'utf8')
if (source === 'broken') process.exit(1)
if (source === 'edited') writeFileSync('src/source.txt', 'edited!')
writeFileSync(process.argv[2] + '/part-' + source.padEnd(8, '_') + '.mjs', '')
writeFileSync(process.argv[2] + '/server.mjs', 'console.log("built of the ' + source + '", process.argv[2])')
`

test('runs the server from a build of its present sources, and from the sources if there is none', async () => {
  const root = await makeTree()
  await writeFile(join(root, 'src/bin/server.ts'), "console.log('the sources', process.argv[2])")
  await writeFile(join(root, 'scripts/build-server.ts'), SERVER_BUILD)
  const startOnce = async (source: string) => {
    await writeFile(join(root, 'src/source.txt'), source)
    const { stdout, stderr } = run(root, ['start', '--demo'])
    if (stdout === null || stderr === null) throw new Error('no pipe')
    const [printed, said] = await Promise.all([text(stdout), text(stderr)])
    return { printed, isBuilt: said.includes('building the server'), isMissing: said.includes('could not be built') }
  }
  const sources = { printed: 'the sources --demo\n', isMissing: false, isBuilt: false }
  expect(await startOnce('first')).toEqual(sources)

  await mkdir(join(root, 'node_modules/rolldown'))
  const first = { printed: 'built of the first --demo\n', isMissing: false, isBuilt: true }
  expect(await startOnce('first')).toEqual(first)
  expect(await startOnce('first')).toEqual({ ...first, isBuilt: false })
  expect(await startOnce('second')).toEqual({ ...first, printed: 'built of the second --demo\n' })
  expect(await startOnce('broken')).toEqual({ ...sources, isMissing: true, isBuilt: true })
  expect(await readdir(join(root, 'dist'))).toEqual(['server'])
  // A server of the first build may still run.
  const parts = async () =>
    (await readdir(join(root, 'dist/server'))).filter((name) => name.startsWith('part-')).toSorted()
  expect(await parts()).toEqual(['part-first___.mjs', 'part-second__.mjs'])
  // How long it has run before makes no difference.
  await utimes(join(root, 'dist/server/part-second__.mjs'), 0, 0)
  await writeFile(join(root, 'dist/server/.replaced'), '{"part-first___.mjs":0}')
  await startOnce('third')
  expect(await parts()).toEqual(['part-second__.mjs', 'part-third___.mjs'])
  expect(await startOnce('edited')).toEqual({ ...first, printed: 'built of the edited! --demo\n' })
})

test('starts without a build where none can be put, and deletes what is left of one that was killed', async () => {
  const root = await makeTree()
  await writeFile(join(root, 'src/bin/server.ts'), "console.log('the sources')")
  await writeFile(join(root, 'src/source.txt'), 'only')
  await writeFile(join(root, 'scripts/build-server.ts'), SERVER_BUILD)
  await mkdir(join(root, 'node_modules/rolldown'), { recursive: true })
  const printed = async (): Promise<string> => {
    const { stdout } = run(root, ['start'])
    return stdout === null ? 'none' : text(stdout)
  }
  await writeFile(join(root, 'dist'), 'no folder')
  expect(await printed()).toBe('the sources\n')
  await rm(join(root, 'dist'))
  for (const name of ['.server-1', '.server-1-former', '.server-2']) {
    await mkdir(join(root, 'dist', name), { recursive: true })
    if (name !== '.server-2') await utimes(join(root, 'dist', name), 0, 0)
  }
  expect(await printed()).toBe('built of the only undefined\n')
  expect((await readdir(join(root, 'dist'))).toSorted()).toEqual(['.server-2', 'server'])
})

test('a signal during a build ends the start', async () => {
  const root = await makeTree()
  await writeFile(join(root, 'src/bin/server.ts'), "console.log('started')")
  const beginning = "process.stderr.write('begun\\n'); setInterval(() => {}, 1000)"
  await writeFile(join(root, 'scripts/build-server.ts'), beginning)
  await mkdir(join(root, 'node_modules/rolldown'), { recursive: true })
  const runner = run(root, ['start'])
  let [printed, said] = ['', '']
  runner.stdout?.on('data', (chunk) => (printed += String(chunk)))
  runner.stderr?.on('data', (chunk) => (said += String(chunk)))
  await waitUntil('the build runs', () => said.includes('begun'))
  runner.kill('SIGTERM')
  expect(await once(runner, 'close')).toEqual([null, 'SIGTERM'])
  expect(printed).toBe('')
  expect(await readdir(join(root, 'dist'))).toEqual([])
})
