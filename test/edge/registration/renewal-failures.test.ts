// A disk that is full when a certificate is due, of the agent's machine or of the server, costs no connection.
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitUntil } from '../../support/wait-until.ts'
import { doneBy, startAgent, untilConnected } from '../start-agent.ts'
import { type EdgeWorld, startEdgeWorld } from '../world.ts'

/** After it, a certificate of today has less than a year left. */
const DUE_MS = (9 * 365 + 10) * 24 * 3_600_000

let world: EdgeWorld
beforeAll(async () => {
  world = await startEdgeWorld()
})
afterAll(() => world.close())

/** Restarts an agent after `prepare`, with a certificate that is due. @returns What it logs. */
async function startWithDue(prepare: (folder: string) => Promise<unknown>) {
  const { id, folder, stop } = await startAgent(world)
  await untilConnected(world, id)
  await stop()
  await prepare(folder)
  world.shift(DUE_MS)
  const logged: { readonly what: string; readonly reason: string }[] = []
  const log = (what: string, details?: { readonly reason?: unknown }) =>
    logged.push({ what, reason: String(details?.reason) })
  await startAgent(world, { folder, code: 'USED-UP', log })
  const failed = await waitUntil('the failure', () => logged.find(({ what }) => what === 'failed') ?? null)
  world.shift(-DUE_MS)
  // The connection executes a command on.
  expect(await world.call('POST', `/orgs/${world.org.orgId}/mxedges/${id}/services/tunterm/restart`)).toMatchObject({
    status: 200,
  })
  await waitUntil('the command', async () => (await doneBy(folder)).includes('restart tunterm'))
  return { folder, failed: failed.reason, logged: logged.map(({ what }) => what) }
}

const oneConnection = ['connected', 'failed']

test("an agent that can't write its next key stays connected", async () => {
  // A folder in the place of the file fails the write, as a full disk does.
  const { failed, logged } = await startWithDue((folder) => mkdir(join(folder, 'next-key.pem.new')))
  expect(failed).toMatch(/^The certificate was not renewed: /)
  expect(logged).toEqual(oneConnection)
})

test("an agent that can't replace its former certificate stays connected with the next one", async () => {
  const { failed, logged, folder } = await startWithDue((place) => mkdir(join(place, 'registration.json.new')))
  expect(failed).toMatch(/^The former certificate was not replaced: /)
  // It has connected once more, with the next certificate.
  expect(logged).toEqual(['connected', 'disconnected', ...oneConnection])
  expect(await readdir(folder)).toContain('next.json')
})

test("an agent stays connected while the database can't admit its next key", async () => {
  await sql`create function fail() returns trigger language plpgsql as $$ begin
    raise exception 'it fails' using errcode = '53100';
  end $$`.execute(world.ctx.db)
  await sql`create trigger fail before update of renewal_key on mxedge for each row execute function fail()`.execute(
    world.ctx.db,
  )
  const { failed, logged } = await startWithDue(async () => {})
  expect(failed).toMatch(/^The certificate was not renewed: .*-32603/)
  expect(logged).toEqual(oneConnection)
})
