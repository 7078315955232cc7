// Plain JavaScript without dependencies: it runs at each start, before anything else is loaded.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The inputs of the build besides web/. */
const INPUTS = ['package-lock.json', 'scripts/build-console.ts', 'scripts/console.mjs']

/**
 * Builds the console if its sources have changed since the last build; returns quickly otherwise. If there are no
 * sources, or nothing can be written, nothing is changed: the service works without a console.
 *
 * @param {string} root The package's folder.
 * @param {(folder: string) => Promise<boolean>} build Writes a build to an empty folder; false if it fails.
 * @returns {Promise<boolean>} False if the build failed.
 */
export async function ensureConsole(root, build) {
  if (!existsSync(join(root, 'web'))) return true
  const wanted = hashSources(root)
  const folder = join(root, 'dist/console')
  if (readText(join(folder, '.sources')) === wanted) return true
  // Two concurrent starts build twice; the first that is done puts its build in place.
  const fresh = join(root, `dist/.console-${process.pid}`)
  try {
    mkdirSync(fresh, { recursive: true })
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes(error.code)) return true
    throw error
  }
  try {
    process.stderr.write('signalbox: building the console\n')
    if (!(await build(fresh))) return false
    writeFileSync(join(fresh, '.sources'), wanted)
    // Another process may have put the same build there meanwhile, and somebody may be reading it.
    if (readText(join(folder, '.sources')) !== wanted) replace(folder, fresh)
    return true
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

function replace(folder, fresh) {
  const former = `${fresh}-former`
  try {
    renameSync(folder, former)
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

function hashSources(root) {
  const hash = createHash('sha256')
  const web = readdirSync(join(root, 'web'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length + 1))
  for (const path of [...INPUTS, ...web].toSorted()) {
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
