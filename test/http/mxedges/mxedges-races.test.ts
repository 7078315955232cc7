import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { randomUUID } from 'node:crypto'
import { sweepMxedgeCommands } from '../../../src/mxedges/commands/record-commands.ts'
import { json } from '../../../src/platform/database/db.ts'
import { addSite } from '../../support/fleets/devices.ts'
import { addCluster, addMxedge, makeMxedge } from '../../support/fleets/mxedges.ts'
import { newKey, tryToRegister } from '../../edge/world.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'

let server: TestServer
let org: TestOrg
let path: string
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())
beforeEach(async () => {
  org = await server.addOrg('Raced')
  path = `/orgs/${org.orgId}`
})

const call = (method: string, of: string, body?: unknown) =>
  server.call(method, of, { as: org, ...(body !== undefined && { body }) })

/** Makes the calls wait for the row, in this order, and then releases it. */
async function queueAtRow(
  { table, id }: { readonly table: 'org' | 'site' | 'mxcluster'; readonly id: string },
  calls: readonly (() => Promise<Answer>)[],
): Promise<number[]> {
  const running: Promise<Answer>[] = []
  await server.ctx.db.transaction().execute(async (tx) => {
    await tx.selectFrom(table).select('id').where('id', '=', id).forUpdate().execute()
    for (const start of calls) {
      running.push(start())
      await untilWaiting(server, running.length)
    }
  })
  return (await Promise.all(running)).map(({ status }) => status)
}

describe('while its organization is deleted', () => {
  it.each([
    ['is made', async () => () => call('POST', `${path}/mxedges`, { name: 'Late', model: 'ME-VM' })],
    [
      'is claimed',
      async () => {
        const { claim_code: code } = await makeMxedge(server.ctx)
        return () => call('POST', `${path}/mxedges/claim`, { code })
      },
    ],
    [
      'is changed',
      async () => {
        const { id } = await addMxedge(server, {}, org)
        return () => call('PUT', `${path}/mxedges/${id}`, { notes: 'late' })
      },
    ],
    [
      'is replaced',
      async () => {
        const { id } = await addMxedge(server, {}, org)
        return () => call('POST', `${path}/mxedges/${id}/restart`)
      },
    ],
    [
      'registers',
      async () => {
        const { magic } = await addMxedge(server, {}, org)
        return () => tryToRegister(server, magic, newKey())
      },
      400,
    ],
    ['has a cluster', async () => () => call('POST', `${path}/mxclusters`, { name: 'Late' })],
  ] as const)('an appliance that %s is deleted too, or is not found', async (_what, prepare, gone: 400 | 404 = 404) => {
    for (const removeFirst of [true, false]) {
      org = await server.addOrg('Raced')
      path = `/orgs/${org.orgId}`
      const change = await prepare()
      const remove = () => call('DELETE', path)
      const row = { table: 'org', id: org.orgId } as const
      expect(await queueAtRow(row, removeFirst ? [remove, change] : [change, remove])).toEqual([
        200,
        removeFirst ? gone : 200,
      ])
      const left = server.ctx.db.selectFrom('mxedge').select('id').where('orgId', '=', org.orgId)
      expect(await left.execute()).toEqual([])
    }
  })
})

it('an organization is deleted while commands to its appliances expire', async () => {
  const { id: mxedgeId } = await addMxedge(server, {}, org)
  const past = new Date(0)
  const command = { orgId: org.orgId, id: randomUUID(), mxedgeId, kind: 'support' as const, params: json({}) }
  await server.ctx.db
    .insertInto('mxedgeCommand')
    .values({ ...command, createdAt: past, expiresAt: past })
    .execute()
  const [removed, swept] = await server.ctx.db.transaction().execute(async (tx) => {
    await tx.selectFrom('org').select('id').where('id', '=', org.orgId).forUpdate().execute()
    const removal = call('DELETE', path)
    await untilWaiting(server, 1)
    const sweep = sweepMxedgeCommands(server.ctx)
    await Promise.race([sweep, untilWaiting(server, 2)])
    return [removal, sweep] as const
  })
  expect((await removed).status).toBe(200)
  await swept
})

it('an appliance is not assigned to a concurrently deleted site, or loses it', async () => {
  for (const removeFirst of [true, false]) {
    const siteId = await addSite(server, 'Raced', org)
    const { id } = await addMxedge(server, {}, org)
    const remove = () => call('DELETE', `/sites/${siteId}`)
    const assign = () => call('POST', `${path}/mxedges/assign`, { mxedge_ids: [id], site_id: siteId })
    const statuses = await queueAtRow({ table: 'site', id: siteId }, removeFirst ? [remove, assign] : [assign, remove])
    expect(statuses).toEqual([200, removeFirst ? 404 : 200])
    expect((await call('GET', `${path}/mxedges/${id}`)).body).toMatchObject({ id, for_site: false })
  }
})

it('an appliance does not join a concurrently deleted cluster, or prevents its deletion', async () => {
  for (const removeFirst of [true, false]) {
    const cluster = await addCluster(server, {}, org)
    const { id } = await addMxedge(server, {}, org)
    const remove = () => call('DELETE', `${path}/mxclusters/${cluster.id}`)
    const join = () => call('PUT', `${path}/mxedges/${id}`, { mxcluster_id: cluster.id })
    const row = { table: 'mxcluster', id: cluster.id } as const
    expect(await queueAtRow(row, removeFirst ? [remove, join] : [join, remove])).toEqual([200, 400])
  }
})
