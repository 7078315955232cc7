import { sql } from 'kysely'
import { expect, it, onTestFinished, vi } from 'vitest'
import { AppError } from '../../../../src/platform/errors.ts'
import { openTx } from '../../../support/database/open-tx.ts'
import type { TestOrg } from '../../../support/servers/server.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { LARGE, type World, countWaiting, settingOf, startWorld } from './apart-world.ts'

/** The process yields the processors to everything else, and the first test builds its program. */
vi.setConfig({ testTimeout: 120_000 })

/** Locks the settings of organizations. @returns A function that releases them. */
async function lockSettings({ ctx }: World, ...orgs: readonly Pick<TestOrg, 'orgId'>[]): Promise<() => Promise<void>> {
  const { commit } = await openTx(ctx, async (tx) => {
    for (const { orgId } of orgs) await sql`select from org_setting where org_id = ${orgId} for update`.execute(tx)
  })
  onTestFinished(commit)
  return commit
}

it('charges for the tries of a request whose client leaves while its record is locked', async () => {
  const world = await startWorld()
  await world.accompany()
  await world.call('PUT', settingOf(world), { body: { note: LARGE } })
  await lockSettings(world, world.org)
  const params = { org_id: world.org.orgId }
  const operation = 'updateOrgSettings'
  const body = Buffer.from(JSON.stringify({ note: LARGE }))
  const sent = { operation, kind: operation, caller: world.lastCaller(), params, query: {}, url: '/', body }
  let tries = 0
  const end = await world.apart.run({ ...sent, isHeavy: false }, () => {
    tries += 1
    if (tries > 2) throw new AppError('unavailable', 'left')
  })
  expect(end).toMatchObject({ refusal: { detail: 'left' } })
  expect(end.cpuMs).toBeGreaterThan(0)
})

it.each([
  ['of one account', 1, 3],
  ['of one organization', 1, 1],
  ['of two accounts', 2, 2],
])('leaves places of the process to others, however many changes %s wait', async (_, accounts, count) => {
  const world = await startWorld()
  const { neighbor } = world
  const put = ({ orgId }: Pick<TestOrg, 'orgId'>, as: TestOrg) =>
    world.call('PUT', `/orgs/${orgId}/setting`, { as, body: { note: LARGE } })
  const owners = [world.org, ...(accounts > 1 ? [await world.addOrg('Second')] : [])]
  const orgs: { readonly orgId: string; readonly as: TestOrg }[] = []
  for (const as of owners) {
    orgs.push({ orgId: as.orgId, as })
    for (let more = 1; more < count; more += 1)
      orgs.push({ orgId: (await world.call('POST', '/orgs', { as, body: { name: 'More' } })).body.id, as })
  }
  // The first of an account runs alone.
  for (const org of orgs) expect((await put(org, org.as)).status).toBe(200)
  expect((await put(neighbor, neighbor)).status).toBe(200)
  const before = world.ran.length
  await world.accompany()
  const release = await lockSettings(world, ...orgs)
  const held = [...orgs, ...orgs, ...orgs, ...orgs].slice(0, 4).map((org) => put(org, org.as))
  await waitUntil('requests for the process', () => world.ran.length === before + held.length)
  await waitUntil('one that runs', async () => (await countWaiting(world, 'Lock')) > 0)
  expect((await put(neighbor, neighbor)).status).toBe(200)
  expect(world.ran).toHaveLength(before + held.length + 1)
  await release()
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual(held.map(() => 200))
})
