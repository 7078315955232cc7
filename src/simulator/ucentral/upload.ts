import { gzipSync } from 'node:zlib'
import { type Dispatcher, FormData, request } from 'undici'

export interface UploadOptions {
  readonly dispatcher: Dispatcher
  /** The serial number that the form contains. */
  readonly serial: string
  readonly content: string
}

/** Posts a file as both clients do. @returns False if no server accepted the form; the clients ignore its answer. */
export async function uploadFile(uri: string, { dispatcher, serial, content }: UploadOptions): Promise<boolean> {
  const form = new FormData()
  form.set('name', serial)
  form.set('data', new Blob([gzipSync(content)]), `bundle.${serial}.tar.gz`)
  try {
    const { body } = await request(uri, { method: 'POST', body: form, dispatcher })
    await body.dump()
    return true
  } catch {
    return false
  }
}
