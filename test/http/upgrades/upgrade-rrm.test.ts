import { describe, expect, it } from 'vitest'
import { uuidv7 } from 'uuidv7'
import { recordTelemetry } from '../../../src/devices/telemetry/record-telemetry.ts'
import type { Scan } from '../../../src/devices/telemetry/telemetry.ts'
import { decodeState } from '../../../src/gateway/ucentral/state/decode-state.ts'
import { addMs } from '../../../src/platform/time/clock.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { documentText } from '../../../src/platform/sealing/document-column.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { createUpgradesHarness } from './upgrades-harness.ts'

const harness = createUpgradesHarness()
const { siteId, macsOf } = harness

const DAY_MS = 24 * 3600e3
const idOf = (mac: string): string => `00000000-0000-0000-1000-${mac}`
const whole = { strategy: 'rrm', rrm_first_batch_percentage: 100, rrm_max_batch_percentage: 100 }

async function preview(body: object = whole): Promise<AnyJson> {
  const path = `/sites/${siteId(0)}/devices/upgrade`
  return (await harness.server.call('POST', path, { body: { ...body, dry_run: true }, as: harness.admin })).body
}
const batchesOf = ({ phases }: AnyJson): string[][] => phases.map(({ sites }: AnyJson) => sites[0].macs)

/** Reports as a device whose state has this member `scan`; without it, as one that has not scanned since. */
async function report(mac: string, { scan, daysAgo = 0 }: { readonly scan?: unknown; readonly daysAgo?: number }) {
  const { ctx } = harness.server
  const telemetry = decodeState({ ...(scan !== undefined && { scan }) })
  const key = { orgId: harness.admin.orgId, deviceId: idOf(mac), siteId: siteId(0), type: 'ap' as const }
  const time = { at: addMs(ctx.clock.now(), -daysAgo * DAY_MS), atMs: ctx.serviceClock.nowMs() }
  await inTx(ctx, (tx) => recordTelemetry(tx, [{ ...key, epoch: '1', telemetry: [telemetry], hasBooted: true }], time))
}

/** Places the access points of the site on a floor of 10 pixels a meter, this many meters from its corner. */
async function place(metres: readonly number[]): Promise<void> {
  const { db, clock } = harness.server.ctx
  const now = clock.now()
  const map = { orgId: harness.admin.orgId, siteId: siteId(0), id: uuidv7(), createdAt: now, modifiedAt: now }
  await db
    .insertInto('siteMap')
    .values({ ...map, doc: documentText({ type: 'image', ppm: 10 }) })
    .execute()
  for (const [index, x] of metres.entries())
    await db
      .updateTable('device')
      .set({ doc: documentText({ map_id: map.id, x: 10 * x, y: 0 }) })
      .where('id', '=', idOf(macsOf(0)[index] ?? ''))
      .execute()
}

describe('rrm', () => {
  it('restarts access points together of which nothing is known, and says so', async () => {
    const plan = await preview()
    expect(plan.phases.map(({ total }: AnyJson) => total)).toEqual([3])
    expect(plan.notes).toEqual([
      {
        site_id: siteId(0),
        reason: expect.stringContaining('of 0 by scans, of 0 by the map, of 0 by LLDP, and of 3 not at all'),
      },
    ])
  })

  it('never restarts those together that are near each other on the map', async () => {
    await place([0, 20, 40])
    expect(batchesOf(await preview())).toEqual([[macsOf(0)[0], macsOf(0)[2]], [macsOf(0)[1]]])
    const sequence = [[macsOf(0)[1]], [macsOf(0)[0], macsOf(0)[2]]]
    expect(batchesOf(await preview({ ...whole, rrm_node_order: 'center_to_fringe' }))).toEqual(sequence)
  })

  it('believes a scan of the last seven days rather than the map, also after reports without one', async () => {
    const [first = '', second = '', third = ''] = macsOf(0)
    await place([0, 20, 40])
    const scan = [{ bssid: third.match(/../g)?.join(':'), signal: -60, ssid: 'Office' }, { bssid: 'x' }, 7]
    await report(first, { scan, daysAgo: 1 })
    await report(first, {})
    const batches = batchesOf(await preview())
    const together = (a: string, b: string) => batches.some((batch) => batch.includes(a) && batch.includes(b))
    expect([together(first, third), together(second, third), together(first, second)]).toEqual([false, false, true])
    await report(first, { scan: [], daysAgo: 8 })
    const stored = await harness.server.ctx.db
      .selectFrom('deviceReport')
      .select('report')
      .where('deviceId', '=', idOf(first))
      .executeTakeFirstOrThrow()
    expect(stored.report.scan).toMatchObject({ cells: [] } satisfies Partial<Scan>)
    expect((await preview()).notes[0].reason).toContain('of 0 by scans, of 3 by the map')
  })

  it('leaves mesh access points to the end, and is an upgrade in those batches', async () => {
    const [first = '', second = '', third = ''] = macsOf(0)
    await place([0, 20, 40])
    const { db } = harness.server.ctx
    const known = await db.selectFrom('device').select('doc').where('id', '=', idOf(first)).executeTakeFirstOrThrow()
    const doc = documentText({ ...known.doc, mesh: { enabled: true, role: 'remote' } })
    await db.updateTable('device').set({ doc }).where('id', '=', idOf(first)).execute()
    expect(batchesOf(await preview())).toEqual([[third], [second], [first]])
    await harness.post({ site_ids: [siteId(0)], ...whole })
    expect((await harness.targets()).map(({ mac, phase }) => [mac, phase])).toEqual([
      [third, 1],
      [second, 2],
      [first, 3],
    ])
    expect(await harness.siteUpgrades()).toMatchObject([{ plan: { strategy: 'rrm', gates: null, phases: 3 } }])
  })
})
