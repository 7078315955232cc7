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
  server: { sources: 'src', inputs: ['scripts/build-server.ts'], stays: /-[\w-]{8}\.mjs$/ },
}

/** After this time, files of former builds no longer stay. */
const STAYS_MS = 7 * 24 * 3600e3

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
  const wanted = hashSources(root, BUILDS[name])
  const folder = join(root, 'dist', name)
  if (readText(join(folder, '.sources')) === wanted) return 'current'
  // Two concurrent starts build twice; the first that is done puts its build in place.
  const fresh = join(root, 'dist', `.${name}-${process.pid}`)
  try {
    mkdirSync(fresh, { recursive: true })
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes(error.code)) return 'unchanged'
    throw error
  }
  try {
    process.stderr.write(`signalbox: building the ${name}\n`)
    if (!(await build(fresh))) return 'failed'
    writeFileSync(join(fresh, '.sources'), wanted)
    // Another process may have put the same build there meanwhile, and somebody may be reading it.
    if (readText(join(folder, '.sources')) !== wanted) replace(folder, fresh, BUILDS[name].stays)
    return 'current'
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

function replace(folder, fresh, stays) {
  const former = `${fresh}-former`
  try {
    renameSync(folder, former)
    for (const name of readdirSync(former))
      if (stays.test(name) && !existsSync(join(fresh, name)) && isRecent(join(former, name)))
        renameSync(join(former, name), join(fresh, name))
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  try {
    renameSync(fresh, folder)
  } catch (error) {
    // Another process has put the same build there between the two steps.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  }
  rmSync(former, { recursive: true, force: true })
}

function isRecent(path) {
  return Date.now() - statSync(path).mtimeMs < STAYS_MS
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

/** Returns an empty string if the file does not exist. */
function readText(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return ''
    throw error
  }
}
