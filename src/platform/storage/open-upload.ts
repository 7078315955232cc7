import type { WriteStream } from 'node:fs'
import { open } from 'node:fs/promises'

const OWNER_ONLY = 0o600

/**
 * Opens a new file for an upload; it is on disk when this returns. A stream that opens its file by itself may still do
 * so after the pipeline into it has failed: then the file appears after it was removed, and nobody removes it again.
 * @param options `flush` syncs the file before it is closed.
 * @throws A system error, EEXIST among them.
 */
export async function openUpload(path: string, options: { readonly flush?: boolean } = {}): Promise<WriteStream> {
  const file = await open(path, 'wx', OWNER_ONLY)
  return file.createWriteStream(options)
}
