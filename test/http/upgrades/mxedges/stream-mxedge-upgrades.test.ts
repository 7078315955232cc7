import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sweepFirmwareFiles } from '../../../../src/firmware/storage/storage.ts'
import { uploadPackage } from '../../../edge/upgrades/packages.ts'
import { addBox, pathOf, playUpgrades, upgrade } from '../../../edge/upgrades/upgrade-world.ts'
import type { AnyJson } from '../../../support/contract/any-json.ts'
import { addSite } from '../../../support/fleets/devices.ts'
import { type TestOrg, type TestServer, startTestServer } from '../../../support/servers/server.ts'
import { type StreamClient, openStream } from '../../../support/peers/stream-client.ts'

// Without a worker upgrades stay queued.
let world: TestServer
beforeAll(async () => {
  world = await startTestServer()
  await sweepFirmwareFiles(world.ctx, { dir: join(world.dataDir, 'firmware') })
  await uploadPackage(world, '2.0.0', { query: 'package=tunterm' })
})
afterAll(() => world.close())

const open = ({ token }: TestOrg = world.org): Promise<StreamClient> =>
  openStream(world.url, { authorization: `Token ${token}` })
/** The transaction that wrote the upgrade last. */
const writtenBy = async (id: string): Promise<string> => {
  const row = world.ctx.db
    .selectFrom('mxedgeUpgrade')
    .select(sql<string>`xmin::text`.as('writer'))
    .where('id', '=', id)
  return (await row.executeTakeFirstOrThrow()).writer
}
const play = () => playUpgrades(world, [], world.org.orgId)

/** Awaits the next message that shows the upgrade as the list does, and compares it with the list. */
async function nextAsListed(client: StreamClient, channel: string, has: (data: AnyJson) => boolean): Promise<AnyJson> {
  const { data } = await client.next((message) => message.channel === channel && has(message.data))
  const listed = (await world.call('GET', channel)).body.find(({ id }: AnyJson) => id === data.id)
  expect(data).toEqual(listed)
  return data
}

it('sends the progress of upgrades of edge appliances, in the form of their list and only at changes', async () => {
  const client = await open()
  const channel = pathOf(world)
  expect(await client.subscribe(channel)).toMatchObject({ event: 'channel_subscribed' })
  const boxes = [await addBox(world), await addBox(world)]
  const body = { mxedge_ids: boxes, versions: { tunterm: '2.0.0' }, strategy: 'serial' }
  const { id } = await upgrade(world, body)
  const next = (has: (data: AnyJson) => boolean) => nextAsListed(client, channel, has)
  expect(await next((data) => data?.id === id)).toMatchObject({ status: 'queued', counts: { queued: 2 } })
  const act = (verb: string) => world.call('POST', `${channel}/${id}/${verb}`)
  await act('pause')
  expect(await next(({ held }) => held !== undefined)).toMatchObject({ held: { by: 'user' } })
  await play()
  expect(await next(({ status }) => status === 'upgrading')).toMatchObject({ counts: { queued: 2 } })
  const written = await writtenBy(id)
  await play()
  expect(await writtenBy(id)).toBe(written)
  await act('resume')
  expect(await next(({ held }) => held === undefined)).toMatchObject({ status: 'upgrading' })
  await play()
  const ended = await next(({ status }) => status === 'completed')
  expect(ended).toMatchObject({ counts: { success: 2 }, finished_time: expect.any(Number) })
  for (const box of boxes) expect(JSON.stringify(client.received)).not.toContain(box)

  const taken = await addBox(world)
  const first = await upgrade(world, { mxedge_ids: [taken], versions: { tunterm: '2.0.0' } })
  await upgrade(world, { mxedge_ids: [taken], versions: { tunterm: '2.0.0' }, supersede: true })
  expect(await next((data) => data?.id === first.id && data.status === 'cancelled')).toBeDefined()
})

it('sends a site its own upgrades, and nothing to callers who may not list them', async () => {
  const siteId = await addSite(world)
  const channel = `/sites/${siteId}/mxedges/upgrade`
  const stranger = await open(await world.addOrg())
  for (const name of [channel, pathOf(world)])
    expect(await stranger.subscribe(name)).toMatchObject({ event: 'subscribe_failed' })
  const client = await open()
  await client.subscribe(channel)
  await upgrade(world, { mxedge_ids: [await addBox(world)], versions: { tunterm: '2.0.0' } })
  const mxedge_ids = [await addBox(world)]
  const assignment = { mxedge_ids, site_id: siteId }
  await world.call('POST', `/orgs/${world.org.orgId}/mxedges/assign`, { body: assignment })
  const { body } = await world.call('POST', channel, { body: { versions: { tunterm: '2.0.0' } } })
  expect(await nextAsListed(client, channel, (data) => data !== undefined)).toMatchObject({
    id: body.id,
    site_id: siteId,
  })
  await world.call('POST', `${channel}/${body.id}/cancel`)
  await play()
  await nextAsListed(client, channel, ({ status }) => status === 'cancelled')
  const { id } = await upgrade(world, { mxedge_ids, versions: { tunterm: '2.0.0' } })
  await nextAsListed(client, channel, (data) => data.id === id)
})
