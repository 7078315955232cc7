import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../../../src/cli/client.ts'
import type { Machine } from './machines.ts'

/** The interface of an organization, by the path of it. */
interface Org {
  readonly client: Client
  readonly org: string
}

/** Requests support files of an appliance. A request that meets no server may have reached the former one. */
export async function requestSupport({ client, org }: Org, { id }: Machine): Promise<void> {
  await client.call('POST', `${org}/mxedges/${id}/support`).catch(() => {})
}

const ENDED_WITHIN_MS = 180_000
const POLL_MS = 500
const open = new Set(['queued', 'sent'])
/** A command expires if its appliance could not get it within a minute. */
const ends = new Set(['done', 'unknown', 'expired'])

interface Command {
  readonly kind: string
  readonly status: string
}

/** Returns a sentence for each appliance that has not uploaded as many files as its commands say, or other ones. */
export async function listSupportFaults(parts: Org, appliances: readonly Machine[]): Promise<string[]> {
  const faults = await Promise.all(appliances.map((appliance) => faultsOf(parts, appliance)))
  return faults.flat()
}

async function faultsOf({ client, org }: Org, { id, agent }: Machine): Promise<string[]> {
  const path = `${org}/mxedges/${id}`
  const read = async (): Promise<readonly Command[]> => {
    const commands = (await client.call('GET', `${path}/commands?limit=1000`)) as readonly Command[]
    return commands.filter(({ kind }) => kind === 'support')
  }
  let commands = await read()
  for (const startMs = performance.now(); commands.some(({ status }) => open.has(status)); commands = await read()) {
    if (performance.now() - startMs > ENDED_WITHIN_MS) return [`a support command of ${id} has not ended`]
    await delay(POLL_MS)
  }
  const files = (await client.call('GET', `${path}/support?limit=1000`)) as readonly { readonly url: string }[]
  const archive = await readFile(join(agent.machine, 'archive'))
  const contents = await Promise.all(files.map(async ({ url }) => Buffer.from(await (await fetch(url)).arrayBuffer())))
  const count = (status: string): number => commands.filter((command) => command.status === status).length
  // An appliance has done one that is unknown, or has not received it before the server was killed.
  const isRight = files.length >= count('done') && files.length <= count('done') + count('unknown')
  return [
    ...commands
      .filter(({ status }) => !ends.has(status))
      .map(({ status }) => `a support command of ${id} is ${status}`),
    ...(isRight ? [] : [`${id} has ${files.length} support files of ${count('done')} commands`]),
    ...contents.filter((content) => !content.equals(archive)).map(() => `a support file of ${id} is incomplete`),
  ]
}
