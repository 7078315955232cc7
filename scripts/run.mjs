// Runs the project's commands. Plain JavaScript for Node >= 20 without dependencies: it works on a fresh clone,
// installs what is missing, and hands over to the pinned Node, which runs TypeScript directly.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureBuilt } from './builds.mjs'
import { ensureInstalled } from './install.mjs'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

/** The first version of Node that runs this file, and what installs and builds. */
const OLDEST_RUNNER = 20

/** The first version of Node that runs TypeScript without a flag. */
const OLDEST_NODE = [22, 19]

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP']
const PARENT_POLL_MS = 1000
const KILL_AFTER_MS = 30_000

/** The project's own programs: each ends when its IPC channel closes, so a killed runner leaves no orphan. */
const PROGRAMS = {
  start: 'src/bin/server.ts',
  cli: 'src/bin/cli.ts',
  signalbox: 'src/bin/signalbox.ts',
  simulate: 'src/bin/simulator.ts',
  agent: 'src/bin/agent.ts',
  'build-agent': 'scripts/build-agent.ts',
  migrate: 'src/bin/migrate.ts',
  bench: 'bench/run.ts',
  soak: 'soak/run.ts',
  contract: 'scripts/contract/contract.ts',
  screenshots: 'scripts/screenshots.ts',
}

const OTHERS = ['build-console', 'build-server', 'test', 'check', 'format']

/** The server starts from its build in less time than from its sources; see decision 416. */
const BUILT_SERVER = 'dist/server/server.mjs'

/** The project's programs trade some speed for memory. The tools that check and test them do not: they need the time. */
const SMALL_HEAP = {
  // What outlives a young heap that is too small becomes garbage of the old one, which costs more; see decision 285.
  flags: ['--max-semi-space-size=16'],
  env: {
    // Each arena of glibc keeps its freed memory for itself, which adds up with thousands of TLS connections.
    MALLOC_ARENA_MAX: '2',
    // Node allocates a buffer of 64 KiB for each TLS connection and uses little of it. If the buffer has a mapping of
    // its own, only its used pages are resident; if it is cut from the heap (whose spare end must then be smaller),
    // every page that was used before is. OpenSSL's buffers of 16 KiB live as long as one record: in the heap each
    // leaves a hole between longer-lived blocks.
    MALLOC_MMAP_THRESHOLD_: '16384',
    MALLOC_TOP_PAD_: '16384',
    MALLOC_TRIM_THRESHOLD_: '65536',
  },
}

/**
 * Node's pool of threads starts with the first work for it, so its size must be known before the program is loaded. Hashes
 * of passwords and uploads that are written through to the disk may occupy four of them at a time; four is the default.
 */
const POOL = { UV_THREADPOOL_SIZE: '8' }

/** The linter of the document checks for a newer release of itself and reports its use, unless this is disabled. */
const QUIET_REDOCLY = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }

const CHECKS = [
  // The tools after it read the types.
  { name: 'client types', args: () => [join(ROOT, 'scripts', 'generate-client-types.mjs')] },
  { name: 'tsc', args: () => [tool('typescript', 'tsc'), '--noEmit', '-p', 'tsconfig.json'] },
  { name: 'tsc of the console', args: () => [tool('typescript', 'tsc'), '--noEmit', '-p', 'web/tsconfig.json'] },
  { name: 'oxlint', args: () => [tool('oxlint', 'oxlint'), '--type-aware', '--deny-warnings'] },
  { name: 'oxfmt', args: () => [tool('oxfmt', 'oxfmt'), '--check'] },
  {
    name: 'depcruise',
    args: () => [tool('dependency-cruiser', 'depcruise'), 'src', 'web', '--config', 'dependency-cruiser.cjs'],
  },
  { name: 'redocly', args: () => [tool('@redocly/cli', 'redocly'), 'lint', 'docs/openapi.json'], env: QUIET_REDOCLY },
  { name: 'client', args: () => [tool('typescript', 'tsc'), '--noEmit', '-p', 'test/client/tsconfig.json'] },
  { name: 'tables', args: () => [join(ROOT, 'scripts', 'check-tables.mjs')] },
  { name: 'scopes', args: () => [join(ROOT, 'scripts', 'check-scopes.mjs')] },
]

/** A signal for this process has ended a build, so nothing is started after it. */
class Stopped extends Error {
  constructor(signal) {
    super(`stopped by ${signal}`)
    this.signal = signal
  }
}

const [command = '', ...args] = process.argv.slice(2)
try {
  mirror(await runCommand())
} catch (error) {
  if (error instanceof Stopped) mirror({ code: null, signal: error.signal })
  else {
    process.stderr.write(`signalbox: ${error.message}\n`)
    process.exitCode = 1
  }
}

async function runCommand() {
  const program = Object.hasOwn(PROGRAMS, command) ? PROGRAMS[command] : undefined
  if (program === undefined && !OTHERS.includes(command))
    throw new Error(`usage: node scripts/run.mjs ${[...Object.keys(PROGRAMS), ...OTHERS].join('|')} [arguments]`)
  if (Number.parseInt(process.versions.node, 10) < OLDEST_RUNNER)
    throw new Error(`needs Node.js ${OLDEST_RUNNER} or newer; this is ${process.versions.node}`)
  await ensureInstalled(ROOT)
  if (command === 'build-console') return exitOf(await ensureBuilt(ROOT, 'console', buildConsole))
  if (command === 'build-server') return exitOf(await ensureBuilt(ROOT, 'server', buildServer))
  if (program !== undefined) {
    const file = command === 'start' ? await prepareStart() : program
    return runNode([join(ROOT, file), ...args], { ipc: true })
  }
  if (command === 'check') return runChecks()
  const own = command === 'test' ? [tool('vitest', 'vitest'), 'run'] : [tool('oxfmt', 'oxfmt')]
  return runNode([...own, ...args], { ipc: false, cwd: ROOT })
}

/** Builds what the service needs. @returns The program to run: the built server, or its sources if there is no build of them. */
async function prepareStart() {
  if ((await ensureBuilt(ROOT, 'console', buildConsole)) === 'failed')
    process.stderr.write('signalbox: the console could not be built; the service starts with its last build, if any\n')
  // Installations without the packages of the build have only the sources.
  if (!existsSync(join(ROOT, 'node_modules/rolldown'))) return PROGRAMS.start
  const server = await ensureBuilt(ROOT, 'server', buildServer)
  if (server === 'failed') process.stderr.write('signalbox: the server could not be built; it runs from its sources\n')
  return server === 'current' ? BUILT_SERVER : PROGRAMS.start
}

function buildConsole(folder) {
  return runBuild('scripts/build-console.ts', folder)
}

function buildServer(folder) {
  return runBuild('scripts/build-server.ts', folder)
}

async function runBuild(program, folder) {
  const { code, signal } = await runNode([join(ROOT, program), folder], { ipc: false, cwd: ROOT })
  if (FORWARDED.includes(signal)) throw new Stopped(signal)
  return code === 0
}

function exitOf(built) {
  return { code: built === 'failed' ? 1 : 0, signal: null }
}

/** Runs all of them, even if the first ones fail. */
async function runChecks() {
  const failed = []
  for (const { name, args: checkArgs, env } of CHECKS) {
    const { code, signal } = await runNode(checkArgs(), { ipc: false, cwd: ROOT, env })
    if (signal !== null) return { code, signal }
    if (code !== 0) failed.push(name)
  }
  process.stderr.write(failed.length === 0 ? 'check: passed\n' : `check: failed: ${failed.join(', ')}\n`)
  return { code: failed.length === 0 ? 0 : 1, signal: null }
}

/** Returns the file of a package's command. */
function tool(name, bin) {
  const folder = join(ROOT, 'node_modules', name)
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return join(folder, typeof manifest.bin === 'string' ? manifest.bin : manifest.bin[bin])
}

/** Runs Node with these arguments until it ends. */
async function runNode(nodeArgs, options) {
  const pinned = join(ROOT, 'node_modules/node/bin', process.platform === 'win32' ? 'node.exe' : 'node')
  const candidates = [...(existsSync(pinned) ? [pinned] : []), ...(isNewEnough() ? [process.execPath] : [])]
  for (const node of candidates) {
    const result = await supervise(node, nodeArgs, options)
    if (result !== null) return result
  }
  throw new Error(
    `needs Node >= ${OLDEST_NODE.join('.')}; the pinned one is not installed (install scripts off?) and this is ${process.version}`,
  )
}

function isNewEnough() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])
}

/**
 * Starts the child and ties its life to this process: each signal is forwarded once, and the child is stopped when the
 * parent of this process ends.
 *
 * @returns {Promise<{ code: number | null, signal: string | null } | null>} Null when it can't be started here at all.
 */
function supervise(node, nodeArgs, { ipc, cwd, env = {} }) {
  // Silences the warnings of older Node versions about type stripping and SQLite.
  const flags = ['--disable-warning=ExperimentalWarning', ...(ipc ? SMALL_HEAP.flags : [])]
  const child = spawn(node, [...flags, ...nodeArgs], {
    cwd,
    env: {
      ...(ipc ? { ...SMALL_HEAP.env, ...POOL } : {}),
      // Compiled code is cached: a start from the cache is faster and needs less memory than one that strips types.
      NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/node'),
      ...process.env,
      ...env,
      PATH: `${join(ROOT, 'node_modules/.bin')}${delimiter}${process.env.PATH ?? ''}`,
    },
    stdio: ipc ? ['inherit', 'inherit', 'inherit', 'ipc'] : 'inherit',
  })
  const forwarded = new Set()
  const onSignal = (signal) => {
    // A terminal signals the whole group, and npm forwards the signal too: repetitions are ignored.
    if (forwarded.has(signal)) return
    forwarded.add(signal)
    child.kill(signal)
  }
  for (const signal of FORWARDED) process.on(signal, onSignal)
  const starter = findStarter()
  const watch = setInterval(() => {
    if (findStarter() === starter) return
    clearInterval(watch)
    child.kill('SIGTERM')
    setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS).unref()
  }, PARENT_POLL_MS)
  return new Promise((resolve) => {
    const settle = (result) => {
      clearInterval(watch)
      for (const signal of FORWARDED) process.off(signal, onSignal)
      resolve(result)
    }
    child.once('error', () => child.pid === undefined && settle(null))
    child.once('exit', (code, signal) => settle({ code, signal }))
  })
}

/**
 * Returns the process whose end must end this one: the parent, or npm if the parent is the shell in which npm runs
 * scripts, which would outlive npm.
 */
function findStarter() {
  const parent = process.ppid
  if (process.env.npm_lifecycle_event === undefined || process.platform !== 'linux') return parent
  try {
    if (readFileSync(`/proc/${parent}/cmdline`, 'utf8').split('\0')[1] !== '-c') return parent
    return Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${parent}/status`, 'utf8'))?.[1])
  } catch {
    return parent // The parent ended between the two reads, which the next poll sees as another parent.
  }
}

/** Ends this process in the same way as the child. */
function mirror({ code, signal }) {
  if (signal === null) {
    process.exitCode = code
    return
  }
  process.exitCode = 128 + constants.signals[signal] // should the signal not end us
  process.kill(process.pid, signal)
}
