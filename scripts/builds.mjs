// Plain JavaScript without dependencies: it runs at each start, before anything else is loaded.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * What `npm start` builds into a folder of dist/: the folder of its sources, its further inputs, and the files of former
 * builds that stay. A server that runs while it is built again still loads some of its files, whose names have a hash.
 */
const BUILDS = {
  console: { sources: 'web', inputs: ['scripts/build-console.ts'], stays: /^$/ },
  server: {
    sources: 'src',
    inputs: ['scripts/build-server.ts', 'scripts/bundle-programs.ts'],
    stays: /-[\w-]{8}\.mjs$/,
  },
}

/** How long files of former builds stay after they have been replaced. */
const STAYS_MS = 7 * 24 * 3600e3
/** The file of a build that has the times at which its files of former builds were replaced. */
const REPLACED = '.replaced'

/** No build takes as long. What is left of one after this time was killed. */
const KILLED_MS = 3600e3

/** Builds in a row. The sources hardly change during more of them. */
const MAX_BUILDS = 3

const NOT_PERMITTED = new Set(['EACCES', 'EPERM', 'EROFS'])

const COMMON_INPUTS = ['package-lock.json', 'scripts/builds.mjs']

/**
 * Builds the console or the server if its sources have changed since the last build; returns quickly otherwise. If there
 * are no sources, or nothing can be written, nothing is changed.
 *
 * @param {string} root The package's folder.
 * @param {keyof typeof BUILDS} name
 * @param {(folder: string) => Promise<boolean>} build Writes a build to an empty folder; false if it fails.
 * @returns {Promise<'current' | 'unchanged' | 'failed'>} `current` if the build is that of the sources.
 */
export async function ensureBuilt(root, name, build) {
  if (!existsSync(join(root, BUILDS[name].sources))) return 'unchanged'
  const folder = join(root, 'dist', name)
  // After a build, the sources may have changed, and a process that began before may have put a build of former ones there.
  for (let builds = 0; ; builds += 1) {
    const wanted = hashSources(root, BUILDS[name])
    if (isBuiltOf(folder, wanted)) return 'current'
    if (builds === MAX_BUILDS) return 'failed'
    const end = await buildOnce({ dist: join(root, 'dist'), name, wanted }, build)
    if (end !== 'built') return end
  }
}

/** @returns {Promise<'built' | 'unchanged' | 'failed'>} */
async function buildOnce({ dist, name, wanted }, build) {
  const folder = join(dist, name)
  // Two concurrent starts build twice; the first that is done puts its build in place.
  const fresh = join(dist, `.${name}-${process.pid}`)
  try {
    deleteKilled(dist, name)
    rmSync(fresh, { recursive: true, force: true })
    mkdirSync(fresh, { recursive: true })
  } catch (error) {
    if (NOT_PERMITTED.has(error.code)) return 'unchanged'
    return fail(error)
  }
  try {
    process.stderr.write(`signalbox: building the ${name}\n`)
    if (!(await build(fresh))) return 'failed'
    writeFileSync(join(fresh, '.sources'), wanted)
    // Another process may have put the same build there meanwhile, and somebody may be reading it.
    if (!isBuiltOf(folder, wanted)) replace(folder, fresh, BUILDS[name].stays)
    return 'built'
  } catch (error) {
    return fail(error)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

function isBuiltOf(folder, hash) {
  return readText(join(folder, '.sources')) === hash
}

/** The disk may be full. Errors without a code are not those of files. */
function fail(error) {
  if (error.code === undefined) throw error
  process.stderr.write(`signalbox: ${error.message}\n`)
  return 'failed'
}

function deleteKilled(dist, name) {
  if (!existsSync(dist)) return
  const builds = readdirSync(dist).filter((entry) => entry.startsWith(`.${name}-`) && /-\d+(-former)?$/.test(entry))
  for (const path of builds.map((entry) => join(dist, entry))) {
    const { mtimeMs = Infinity } = statSync(path, { throwIfNoEntry: false }) ?? {}
    if (Date.now() - mtimeMs > KILLED_MS) rmSync(path, { recursive: true, force: true })
  }
}

function replace(folder, fresh, stays) {
  const former = `${fresh}-former`
  try {
    renameSync(folder, former)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  ifPermitted(() => keepFormer(former, fresh, stays))
  try {
    renameSync(fresh, folder)
  } catch (error) {
    // Another process has put its build there between the two steps.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  }
  ifPermitted(() => rmSync(former, { recursive: true, force: true }))
}

/** Files of another user's build can be neither moved nor deleted, and are left. */
function ifPermitted(change) {
  try {
    change()
  } catch (error) {
    if (!NOT_PERMITTED.has(error.code)) throw error
  }
}

/** Moves the files that stay, and records since when they are those of a former build. */
function keepFormer(former, fresh, stays) {
  if (!existsSync(former)) return
  const times = JSON.parse(readText(join(former, REPLACED)) || '{}')
  const nowMs = Date.now()
  const kept = readdirSync(former)
    .filter((file) => stays.test(file) && !existsSync(join(fresh, file)))
    .map((file) => [file, times[file] ?? nowMs])
    .filter(([, replacedMs]) => nowMs - replacedMs < STAYS_MS)
  for (const [file] of kept) renameSync(join(former, file), join(fresh, file))
  writeFileSync(join(fresh, REPLACED), JSON.stringify(Object.fromEntries(kept)))
}

function hashSources(root, { sources, inputs }) {
  const hash = createHash('sha256')
  const files = readdirSync(join(root, sources), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length + 1))
  for (const path of [...COMMON_INPUTS, ...inputs, ...files.toSorted()]) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update('\0')
  }
  return hash.digest('hex')
}

/** Returns an empty string if the file does not exist, or this user may not read it. */
function readText(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR' || error.code === 'EACCES') return ''
    throw error
  }
}
