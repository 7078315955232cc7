import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writeWhole } from './storage/files.ts'

/** `server.json` in the data folder contains the running server's address, for the command line. */
const fileOf = (dataDir: string): string => join(dataDir, 'server.json')

export async function writeServerFile(dataDir: string, url: string): Promise<void> {
  await writeWhole(fileOf(dataDir), `${JSON.stringify({ url })}\n`, 0o644)
}

export async function removeServerFile(dataDir: string): Promise<void> {
  await rm(fileOf(dataDir), { force: true })
}

/** Returns the address, or null if no server runs; a killed server leaves its address behind. */
export async function readServerFile(dataDir: string): Promise<string | null> {
  const text = await readFile(fileOf(dataDir), 'utf8').catch(() => null)
  if (text === null) return null
  const { url }: { url?: unknown } = JSON.parse(text)
  return typeof url === 'string' ? url : null
}
