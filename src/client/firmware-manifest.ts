import { readFile, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, relative } from 'node:path'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { CommandError } from './exit-codes.ts'
import { hashFile } from './send-file.ts'
import { messageOf } from '../platform/message-of.ts'

export const MANIFEST = 'firmware.json'

const text = Type.Optional(Type.String({ minLength: 1, maxLength: 200 }))
const listed = Type.String({ pattern: '^[^,]+$' })

/** The manifest's entry for a file; the server checks the values as those of an upload. */
const Entry = Type.Object(
  {
    file: Type.String({ minLength: 1 }),
    sha256: Type.String({ pattern: '^[0-9a-fA-F]{64}$' }),
    version: Type.String({ minLength: 1 }),
    models: Type.Optional(Type.Array(listed)),
    tag: text,
    channel: text,
    reported: Type.Optional(Type.Array(listed)),
    min_version: text,
    package: text,
    distro: text,
    default: Type.Optional(Type.Boolean()),
    signature: text,
  },
  { additionalProperties: false },
)
const Manifest = Type.Object(
  { images: Type.Array(Entry, { minItems: 1, maxItems: 1000 }) },
  { additionalProperties: false },
)

export interface ManifestFile {
  /** The name in the manifest. */
  readonly name: string
  readonly path: string
  readonly sizeBytes: number
  readonly sha256: string
  /** The parameters of its upload. */
  readonly query: Readonly<Record<string, string | boolean>>
  /** The reason why it can't be imported; null: none found. */
  readonly problem: string | null
}

function unreadable(path: string, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null
  if (code === 'ENOENT' || code === 'ENOTDIR') return `There is no ${path}: name the folder that contains the manifest`
  return `Cannot read ${path}: ${messageOf(error)}`
}

/**
 * Reads the manifest of a folder, and all its files.
 * @throws CommandError usage for a file that is not a manifest.
 */
export async function readManifest(folder: string): Promise<ManifestFile[]> {
  const path = join(folder, MANIFEST)
  const json = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CommandError('usage', unreadable(path, error))
  })
  const { images } = parseManifest(path, json)
  const root = await realpath(folder)
  const files: ManifestFile[] = []
  for (const entry of images) files.push(await readEntry(root, entry))
  return files
}

function parseManifest(path: string, json: string): Static<typeof Manifest> {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    throw new CommandError('usage', `${path} is not valid JSON: ${messageOf(error)}`)
  }
  if (Value.Check(Manifest, value)) return value
  const [error] = Value.Errors(Manifest, value)
  const what = error?.keyword === 'boolean' ? 'is not a field of the manifest' : (error?.message ?? 'is not valid')
  throw new CommandError(
    'usage',
    `${path}: ${error?.instancePath.slice(1).replaceAll('/', '.') || 'the manifest'} ${what}`,
  )
}

async function readEntry(root: string, entry: Static<typeof Entry>): Promise<ManifestFile> {
  const { file: name, sha256: announced, models, reported, ...rest } = entry
  const sha256 = announced.toLowerCase()
  const query = {
    ...rest,
    sha256,
    ...(models !== undefined && { models: models.join(',') }),
    ...(reported !== undefined && { reported: reported.join(',') }),
  }
  const known = { name, sha256, query }
  const path = await realpath(join(root, name)).catch(() => null)
  if (path === null) return { ...known, path: name, sizeBytes: 0, problem: 'The file is missing' }
  const inside = relative(root, path)
  if (inside.startsWith('..') || isAbsolute(inside))
    return { ...known, path, sizeBytes: 0, problem: 'The file is outside the folder of the manifest' }
  const found = await stat(path)
  const problem = found.isFile() ? await findProblem(path, sha256) : 'It is not a regular file'
  return { ...known, path, sizeBytes: found.size, problem }
}

async function findProblem(path: string, sha256: string): Promise<string | null> {
  try {
    const actual = await hashFile(path)
    return actual === sha256 ? null : `The SHA-256 of the file is ${actual}, not ${sha256} as the manifest says`
  } catch (error) {
    return messageOf(error)
  }
}
