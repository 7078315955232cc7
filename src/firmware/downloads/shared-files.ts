import { type FileHandle, open } from 'node:fs/promises'

const BLOCK_BYTES = 64 * 1024
/** Enough for devices that are a few seconds apart, or for all of a small image. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024

/** A file that others may read at the same time. It keeps a block until that has been read to its end. */
export interface SharedFile {
  /**
   * Returns up to `length` bytes, at most to the end of their block; none beyond the end of the file. The result is
   * shared: don't change it.
   */
  read(position: number, length: number): Promise<Buffer>
  /** May be called again. */
  close(): Promise<void>
}

/**
 * Files that many responses read at the same time, such as the image of an upgrade. Each file is open once, and the blocks
 * that were read last are kept while it is: a read by a thread of the pool, into new memory, costs more than sending its
 * bytes.
 */
export interface SharedFiles {
  /** @throws Error ENOENT if there is no such file. */
  open(path: string): Promise<SharedFile>
}

interface OpenFile {
  readonly handle: Promise<FileHandle>
  users: number
}

interface Block {
  readonly file: OpenFile
  readonly bytes: Promise<Buffer>
}

export function createSharedFiles(maxKeptBytes = MAX_KEPT_BYTES): SharedFiles {
  const files = new Map<string, OpenFile>()
  /** By path and number, in the order of their last use. */
  const blocks = new Map<string, Block>()

  function readBlock(path: string, file: OpenFile, number: number): Promise<Buffer> {
    const key = `${number} ${path}`
    const known = blocks.get(key)
    blocks.delete(key)
    const block = known?.file === file ? known : { file, bytes: readFrom(file, number * BLOCK_BYTES) }
    blocks.set(key, block)
    if (blocks.size * BLOCK_BYTES > maxKeptBytes) {
      const [oldest = key] = blocks.keys()
      blocks.delete(oldest)
    }
    // Another response may have more luck.
    block.bytes.catch(() => blocks.get(key) === block && blocks.delete(key))
    return block.bytes
  }

  async function leave(path: string, file: OpenFile): Promise<void> {
    file.users -= 1
    if (file.users > 0) return
    if (files.get(path) === file) files.delete(path)
    for (const [key, block] of blocks) if (block.file === file) blocks.delete(key)
    await (await file.handle).close()
  }

  return {
    async open(path) {
      const file = files.get(path) ?? { handle: open(path, 'r'), users: 0 }
      files.set(path, file)
      file.users += 1
      try {
        await file.handle
      } catch (error) {
        if (files.get(path) === file) files.delete(path)
        throw error
      }
      let closed: Promise<void> | null = null
      // A reader of small pieces would otherwise read a block again for each of them, if others displace it meanwhile.
      let current: { readonly number: number; readonly block: Buffer } | null = null
      return {
        async read(position, length) {
          const number = Math.floor(position / BLOCK_BYTES)
          const start = position - number * BLOCK_BYTES
          const block = current?.number === number ? current.block : await readBlock(path, file, number)
          current = start + length < block.length ? { number, block } : null
          return block.subarray(start, start + length)
        },
        close: () => (closed ??= leave(path, file)),
      }
    },
  }
}

/** Returns fewer bytes only at the end of the file. */
async function readFrom({ handle }: OpenFile, position: number): Promise<Buffer> {
  const file = await handle
  const block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  let length = 0
  while (length < BLOCK_BYTES) {
    const { bytesRead } = await file.read(block, length, BLOCK_BYTES - length, position + length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return block.subarray(0, length)
}
