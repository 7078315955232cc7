import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { CommandError } from './exit-codes.ts'

const Configuration = Type.Object({
  url: Type.String(),
  token: Type.String(),
  /** The organization that commands concern unless they name one. */
  org_id: Type.Optional(Type.String()),
  /** The CAs that the server's certificate may come from besides the public ones, as PEM. */
  ca: Type.Optional(Type.String()),
})

export type Configuration = Type.Static<typeof Configuration>

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Returns the file that `login` writes, in the folder that the XDG Base Directory Specification names.
 * @throws CommandError usage if the user has no home folder.
 */
export function configurationFile(env: Environment): string {
  const path = findConfigurationFile(env)
  if (path !== null) return path
  const without = 'or set SIGNALBOX_URL and SIGNALBOX_TOKEN instead of signing in'
  throw new CommandError('usage', `this user has no home folder: set HOME or XDG_CONFIG_HOME, ${without}`)
}

/** As configurationFile(); null if the user has no home folder. */
function findConfigurationFile({ XDG_CONFIG_HOME: base }: Environment): string | null {
  // The specification says that a relative path is invalid and must be ignored.
  const folder = base?.startsWith('/') === true ? base : findConfigurationFolder()
  return folder && join(folder, 'signalbox', 'config.json')
}

/** In a container the user may have neither `HOME` nor an entry in the user database; `HOME` may also be empty. */
function findConfigurationFolder(): string | null {
  try {
    const home = homedir()
    return isAbsolute(home) ? join(home, '.config') : null
  } catch {
    return null
  }
}

/**
 * Reads the file that `login` has written; null if there is none. @throws CommandError for a file in another format.
 */
export async function readConfiguration(env: Environment): Promise<Configuration | null> {
  const path = findConfigurationFile(env)
  if (path === null) return null
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw new CommandError('usage', `${path} can't be read: ${error.message}`)
  })
  if (text === null) return null
  try {
    return Value.Parse(Configuration, JSON.parse(text))
  } catch {
    throw new CommandError('usage', `${path} is not a configuration of signalbox: run signalbox login again`)
  }
}

/**
 * Writes the configuration so that only its owner can read it, as a whole or not at all.
 * @param path See configurationFile().
 */
export async function writeConfiguration(path: string, configuration: Configuration): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const unfinished = `${path}.${process.pid}`
  await writeFile(unfinished, `${JSON.stringify(configuration, null, 2)}\n`, { mode: 0o600 })
  // A file of that name may have been there, with another mode.
  await chmod(unfinished, 0o600)
  await rename(unfinished, path)
}

export async function deleteConfiguration(env: Environment): Promise<void> {
  const path = findConfigurationFile(env)
  if (path !== null) await rm(path, { force: true })
}
