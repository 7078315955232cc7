import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import PostalMime, { type Email } from 'postal-mime'
import { waitUntil } from '../wait-until.ts'

/** Returns the mails that a server without a mail server has written for the address, oldest first. */
export async function mailsTo(dataDir: string, address: string): Promise<Email[]> {
  const dir = join(dataDir, 'mail')
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const files = names.filter((name) => name.endsWith('.eml')).sort()
  const mails = await Promise.all(files.map(async (name) => PostalMime.parse(await readFile(join(dir, name)))))
  return mails.filter(({ to }) => to?.some((one) => one.address === address) === true)
}

/** Waits for the `count`th mail to the address, because mails are sent after the answer. */
export async function waitForMail(dataDir: string, address: string, count = 1): Promise<Email> {
  return waitUntil(`mail ${count} to ${address}`, async () => (await mailsTo(dataDir, address))[count - 1] ?? null)
}

/** Returns the `token` of the link in a mail's text. */
export function tokenIn({ text }: Email): string {
  const token = /[?&]token=([\w-]+)/.exec(text ?? '')?.[1]
  if (token === undefined) throw new Error(`no token in ${text}`)
  return token
}
