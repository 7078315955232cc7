import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type Entry, type ZipFile, openPromise } from 'yauzl'
import { assertText, parseJsonBody } from '../../http/bodies/body.ts'
import { type AppError, invalidField } from '../../platform/errors.ts'
import { messageOf } from '../../platform/message-of.ts'

/** A received zip file. Its entries are read one by one, by name, and never unpacked to paths. */
export interface Bundle {
  /** The names of all entries that are files, in the order of the archive. */
  readonly names: readonly string[]
  /** @throws AppError invalid if the entry is missing, too large, or broken. */
  open(name: string, maxBytes: number): Promise<Readable>
  close(): void
}

/** A project with surveys has a few thousand. */
const MAX_ENTRIES = 10_000
/** Names, comments and further fields of all entries are held in memory, uncompressed. */
const MAX_DIRECTORY_BYTES = 4 * 1024 * 1024
/** Bounds the unpacked size of all entries that are read: a small file may expand enormously. */
const MAX_TOTAL_BYTES = 512 * 1024 * 1024

/** @throws AppError invalid for a file that is not a zip file or exceeds a limit. */
export async function openBundle(path: string): Promise<Bundle> {
  const zip = await openPromise(path, { autoClose: false, lazyEntries: true }).catch((error: unknown) => {
    throw broken('is not a zip file', error)
  })
  try {
    if (zip.entryCount > MAX_ENTRIES) throw invalidField('file', `has more than ${MAX_ENTRIES} entries`)
    return bundleOf(zip, await entriesOf(zip))
  } catch (error) {
    zip.close()
    throw error
  }
}

async function entriesOf(zip: ZipFile): Promise<Map<string, Entry>> {
  const entries = new Map<string, Entry>()
  let bytes = 0
  try {
    for await (const entry of zip.eachEntry()) {
      bytes += entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength
      if (bytes > MAX_DIRECTORY_BYTES) throw new Error(`it has more than ${MAX_DIRECTORY_BYTES} bytes`)
      // Names of pictures become names of maps.
      assertText(entry.fileName, 'file')
      if (!entry.fileName.endsWith('/')) entries.set(entry.fileName, entry)
    }
  } catch (error) {
    throw broken('has a broken directory', error)
  }
  return entries
}

function bundleOf(zip: ZipFile, entries: ReadonlyMap<string, Entry>): Bundle {
  let total = 0
  return {
    names: [...entries.keys()],
    async open(name, maxBytes) {
      const entry = entries.get(name)
      if (entry === undefined) throw invalidField('file', `has no ${name}`)
      if (entry.isEncrypted() || !entry.canDecodeFileData()) throw invalidField('file', `${name} can't be unpacked`)
      if (entry.uncompressedSize > maxBytes) throw invalidField('file', `${name} has more than ${maxBytes} bytes`)
      total += entry.uncompressedSize
      if (total > MAX_TOTAL_BYTES) throw invalidField('file', `contains more than ${MAX_TOTAL_BYTES} bytes`)
      const body = await zip.openReadStreamPromise(entry).catch((error: unknown) => {
        throw broken(`${name} can't be read`, error)
      })
      return Readable.from(unpacked(name, body))
    },
    close: () => zip.close(),
  }
}

/** The reader stops at an entry that is longer than declared, and at one whose data does not match its method. */
async function* unpacked(name: string, body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* body
  } catch (error) {
    throw broken(`${name} is broken`, error)
  }
}

/** A document is parsed in one step, which blocks the process. */
const MAX_DOCUMENT_BYTES = 8 * 1024 * 1024

/** Returns a document of the bundle; undefined if it has none of that name. @throws AppError invalid. */
export async function readDocument(bundle: Bundle, name: string): Promise<unknown> {
  if (!bundle.names.includes(name)) return undefined
  const content = await text(await bundle.open(name, MAX_DOCUMENT_BYTES))
  try {
    return parseJsonBody(content.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw broken(`${name} is not valid JSON`, error)
  }
}

function broken(why: string, error: unknown): AppError {
  return invalidField('file', `${why}: ${messageOf(error)}`.slice(0, 300))
}
