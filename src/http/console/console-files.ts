import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { type Encoding, encodings } from './choose-encoding.ts'

/** A file of the console, as the build stored it. */
export interface ConsoleFile {
  readonly type: string
  readonly etag: string
  readonly bytes: Buffer
  /** The same bytes, compressed; absent for files that compression would not make smaller. */
  readonly encoded: ReadonlyMap<Encoding, Buffer>
}

/** The built console. It is small, so it is loaded into memory, and no request reads the disk. */
export interface ConsoleFiles {
  /** The document of every page. */
  readonly document: ConsoleFile
  /** By the names below `/assets/`, which contain a hash of the contents. */
  readonly assets: ReadonlyMap<string, ConsoleFile>
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const suffixes: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' }

/** Returns the files that scripts/build-console.ts has written to `dir`; null if it has not run. */
export async function readConsoleFiles(dir: string): Promise<ConsoleFiles | null> {
  try {
    const names = (await readdir(join(dir, 'assets'))).filter((name) => Object.hasOwn(types, extname(name)))
    const assets = await Promise.all(
      names.map(async (name) => [name, await readOne(join(dir, 'assets', name))] as const),
    )
    return { document: await readOne(join(dir, 'index.html')), assets: new Map(assets) }
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

async function readOne(path: string): Promise<ConsoleFile> {
  const bytes = await readFile(path)
  const encoded = new Map<Encoding, Buffer>()
  for (const encoding of encodings) {
    const stored = await readIfPresent(path + suffixes[encoding])
    if (stored !== null) encoded.set(encoding, stored)
  }
  const digest = createHash('sha256').update(bytes).digest('base64url')
  return { type: types[extname(path)] ?? '', etag: `"${digest}"`, bytes, encoded }
}

async function readIfPresent(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path)
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
