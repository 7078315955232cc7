import { expect, it } from 'vitest'
import type { Answer } from '../support/server.ts'
import { createUpgradesHarness } from './upgrades-harness.ts'

const harness = createUpgradesHarness()
const { post } = harness

function call(id: string, suffix: string, body: unknown = {}): Promise<Answer> {
  return harness.server.call('POST', `${harness.path}/${id}/${suffix}`, { body, as: harness.admin })
}

it('a retry takes no device that has not failed or is in no upgrade, and changes nothing then', async () => {
  const { body } = await post({ all_sites: true })
  const [mac] = harness.macsOf(0)
  const refused = [
    [{ macs: [mac] }, `Invalid field macs.0: ${mac} has not failed, its state is planned`],
    [{ macs: ['5c5b35000000'] }, 'Invalid field macs.0: 5c5b35000000 is no device of this upgrade'],
    [{ macs: ['router'] }, 'Invalid field macs.0: "router" is not a MAC address'],
    [{ macs: [] }, expect.stringMatching(/^Invalid field macs: /)],
    [{ mac: [mac] }, expect.stringMatching(/^Invalid field mac: /)],
  ] as const
  for (const [request, detail] of refused)
    expect(await call(body.id, 'retry', request)).toMatchObject({ status: 400, body: { detail } })
  expect(await call(body.id, 'retry')).toMatchObject({ status: 200, body: { retried: 0, skipped: [] } })
})

it('failed devices are retried, by any form of their MACs', async () => {
  const { body } = await post({ all_sites: true })
  const [first = '', second] = harness.macsOf(0)
  const { db } = harness.server.ctx
  const failed = { state: 'failed', reason: 'not_applied' } as const
  await db
    .updateTable('upgradeTarget')
    .set(failed)
    .where('mac', 'in', [first, second ?? ''])
    .execute()
  await db.deleteFrom('activeUpgradeTarget').where('orgId', '=', harness.admin.orgId).execute()
  const colons = first.toUpperCase().replaceAll(/(..)(?!$)/g, '$1:')
  expect(await call(body.id, 'retry', { macs: [colons] })).toMatchObject({ status: 200, body: { retried: 1 } })
  expect(await call(body.id, 'retry')).toMatchObject({ status: 200, body: { retried: 1, skipped: [] } })
})
