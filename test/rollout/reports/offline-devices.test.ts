import { text } from 'node:stream/consumers'
import { Value } from 'typebox/value'
import { parse } from 'csv-parse/sync'
import { beforeEach, expect, it } from 'vitest'
import { pauseOrgUpgrade } from '../../../src/upgrades/changes/pause-org-upgrade.ts'
import { readReport } from '../../../src/upgrades/reports/read-report.ts'
import { encodeReport } from '../../../src/upgrades/reports/routes.ts'
import { getReported } from '../../../src/upgrades/reports/store.ts'
import { ReportReply } from '../../../src/upgrades/reports/wire.ts'
import { getUpgradeTarget, listUpgradeTargets } from '../../../src/upgrades/targets/store.ts'
import { useRollout } from '../harness.ts'

const rollout = useRollout()
beforeEach(() => rollout.seed([3]))

async function reportOf(id: string) {
  const { ctx, org } = rollout
  const report = await readReport(ctx.db, org.scope, await getReported(ctx.db, org.scope, id))
  const json = Value.Parse(ReportReply, JSON.parse(await text(encodeReport(report, 'json'))))
  const csv: Record<string, string>[] = parse(await text(encodeReport(report, 'csv')), { columns: true })
  return { json, csv }
}

/** What clients read about the devices for which the upgrade waits because they are offline. */
async function offlineOf(id: string) {
  const { ctx, org } = rollout
  const { json, csv } = await reportOf(id)
  const conditions = { reason: { values: ['offline'], patterns: [], anyCase: false } }
  const { rows } = await listUpgradeTargets(ctx.db, org.scope, { id, conditions, page: { limit: 10, page: 1 } })
  const named = json.devices.filter(({ reason }) => reason === 'offline').map(({ mac }) => mac)
  expect(csv.flatMap(({ reason, mac }) => (reason === 'offline' ? [mac] : []))).toEqual(named)
  expect(rows.map(({ mac }) => mac)).toEqual(named)
  return { offline: json.offline, macs: named }
}

it('a device is offline while an upgrade waits for it', async () => {
  const [absent, ...others] = rollout.devices()
  if (absent === undefined) throw new Error('no devices')
  await rollout.fleet.disconnect([absent])
  const { id } = await rollout.create({ reboot_strategy: 'big_bang' })
  expect(await offlineOf(id)).toEqual({ offline: undefined, macs: [] })
  await rollout.play()
  expect(await offlineOf(id)).toEqual({ offline: 1, macs: [absent.mac] })
  const { ctx, org } = rollout
  expect(await getUpgradeTarget(ctx.db, org.scope, { id, mac: absent.mac })).toMatchObject({
    state: 'deferred',
    reason: 'offline',
  })
  await pauseOrgUpgrade(ctx, org.scope, id)
  await rollout.fleet.connect([absent])
  await rollout.advance()
  expect(await offlineOf(id)).toEqual({ offline: undefined, macs: [] })
  expect((await reportOf(id)).json).toMatchObject({ status: 'running', upgraded: others.length })
})
