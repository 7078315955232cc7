// Plain JavaScript for Node >= 20 without dependencies: it runs before anything is installed.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const WAIT_MS = 200
/** The most time that passes between the creation of a lock file and the writing of the process id into it. */
const UNWRITTEN_LOCK_MS = 5000

/**
 * Makes node_modules match package-lock.json; returns quickly if it does already. Output goes to standard error, because
 * standard output belongs to the command that follows.
 *
 * @param {string} root The package's folder.
 * @throws {Error} With one line for the user when the installation fails.
 */
export async function ensureInstalled(root) {
  const lockText = readText(join(root, 'package-lock.json'))
  // An archive of npm contains no lock file, and Node runs no TypeScript below node_modules.
  if (lockText === '') throw new Error(`${root} has no package-lock.json; run Signalbox from a clone of its repository`)
  // Packages with compiled parts differ by platform: a node_modules from another platform is unusable.
  const wanted = createHash('sha256').update(`${process.platform} ${process.arch}\n`).update(lockText).digest('hex')
  const marker = join(root, 'node_modules/.signalbox-install')
  if (readText(marker) === wanted) return
  const lock = join(root, '.install.lock')
  await acquire(lock)
  try {
    if (readText(marker) === wanted) return // the process that we waited for has done it
    if (!matches(root, lockText)) await install(root, lock)
    mark(marker, wanted)
  } finally {
    rmSync(lock, { force: true })
  }
}

/** Returns true if npm's own record of the installed packages matches package-lock.json. */
function matches(root, lockText) {
  const record = readText(join(root, 'node_modules/.package-lock.json'))
  if (record === '') return false
  const installed = JSON.parse(record).packages ?? {}
  return Object.entries(JSON.parse(lockText).packages ?? {}).every(([path, wanted]) => {
    if (path === '') return true
    const found = installed[path]
    if (found === undefined) return wanted.optional === true && !isForThisMachine(wanted)
    return found.version === wanted.version && found.integrity === wanted.integrity
  })
}

/** Returns true if an optional package contains binaries for this machine; npm checks the C library. */
function isForThisMachine({ os, cpu, libc }) {
  return os !== undefined && libc === undefined && allows(os, process.platform) && allows(cpu, process.arch)
}

function allows(list, value) {
  if (list === undefined) return true
  return list.includes(value) || (list.some((entry) => entry.startsWith('!')) && !list.includes(`!${value}`))
}

function mark(marker, wanted) {
  try {
    writeFileSync(marker, wanted)
  } catch (error) {
    // Another user's installation, perhaps read-only: each start makes the slower comparison.
    if (!['EACCES', 'EPERM', 'EROFS'].includes(error.code)) throw error
  }
}

async function install(root, lock) {
  process.stderr.write('signalbox: installing dependencies\n')
  // This includes development packages, whatever the value of NODE_ENV: the pinned Node is one of them.
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']
  const npm = process.env.npm_execpath
  const [program, first] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []]
  const child = spawn(program, [...first, ...args], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: program === 'npm' && process.platform === 'win32',
  })
  // If this process is killed, npm continues: the lock must remain until npm ends.
  if (child.pid !== undefined) writeFileSync(lock, `${process.pid} ${child.pid}`)
  const [code, error] = await new Promise((resolve) => {
    child.once('error', (failure) => resolve([null, failure]))
    child.once('exit', (exitCode) => resolve([exitCode, null]))
  })
  if (code !== 0) throw new Error(`npm ci failed (${error?.message ?? `exit code ${code}`})`)
}

/** Waits until no living process has the lock, then acquires it. */
async function acquire(lock) {
  let told = false
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' })
      return
    } catch (error) {
      if (['EACCES', 'EPERM', 'EROFS'].includes(error.code)) return // can't install here anyway
      if (error.code !== 'EEXIST') throw error
    }
    if (isHeld(lock)) {
      if (!told) process.stderr.write('signalbox: another process is installing dependencies, waiting\n')
      told = true
      await delay(WAIT_MS)
    } else {
      removeStale(lock)
    }
  }
}

/** Two waiting processes may see the same stale lock; because it is renamed first, only one of them removes it. */
function removeStale(lock) {
  const taken = `${lock}.${process.pid}`
  try {
    renameSync(lock, taken)
    if (isHeld(taken)) linkSync(taken, lock) // no longer the stale one: put it back
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error
  }
  rmSync(taken, { force: true })
}

function isHeld(lock) {
  const pids = readText(lock)
    .split(' ')
    .map(Number)
    .filter((pid) => pid > 0)
  if (pids.length > 0) return pids.some(isAlive)
  const changed = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0
  return Date.now() - changed < UNWRITTEN_LOCK_MS
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** Returns an empty string if the file does not exist. */
function readText(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return ''
    throw error
  }
}
