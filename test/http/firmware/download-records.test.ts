import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemScope } from '../../../src/access/scope.ts'
import { insertCommands } from '../../../src/devices/commands/store.ts'
import { type DownloadRecords, createDownloadRecords } from '../../../src/firmware/downloads/download-records.ts'
import { sweepFirmwareFiles } from '../../../src/firmware/storage/storage.ts'
import { fenceDownloads } from '../../../src/firmware/downloads/store-downloads.ts'
import { type Tx, inTx } from '../../../src/platform/database/db.ts'
import { openTx } from '../../support/database/open-tx.ts'
import { listFwUpdates, setFwUpdate } from '../../support/fleets/device-upgrades.ts'
import { claimNewDevices } from '../../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

const now = new Date('2026-11-20T12:00:00Z')
const SIZE = 1000

let server: TestServer
let imageId: string
beforeAll(async () => {
  server = await startTestServer({ now: () => now })
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
  const answer = await fetch(`${server.url}/api/v1/orgs/${server.org.orgId}/firmware?version=1.0&models=AP45`, {
    method: 'POST',
    headers: { authorization: `Token ${server.org.token}` },
    body: new Uint8Array(SIZE),
  })
  imageId = ((await answer.json()) as { id: string }).id
})
afterAll(() => server.close())

function openRecords(): DownloadRecords {
  const records = createDownloadRecords(server.ctx)
  onTestFinished(() => records.stop())
  return records
}

const newTicket = () => ({ orgId: server.org.orgId, commandId: uuidv7(), imageId })

const readRow = (commandId: string) =>
  server.ctx.db.selectFrom('firmwareDownload').selectAll().where('commandId', '=', commandId).executeTakeFirstOrThrow()

const fencing = (commandId: string) => (tx: Tx) =>
  fenceDownloads(tx, systemScope('rollout', server.org.orgId), [{ commandId, imageId }])

/** Follows a promise whose end the test must not await. */
function watch<T>(promise: Promise<T>): { readonly promise: Promise<T>; readonly isSettled: () => boolean } {
  let settled = false
  const end = (): void => void (settled = true)
  promise.then(end, end)
  return { promise, isSettled: () => settled }
}

describe('downloads that are recorded together', () => {
  it.each(['commit', 'rollBack'] as const)(
    'do not wait for one that is being fenced, whatever its end: %s',
    async (how) => {
      const records = openRecords()
      const [fenced, other] = [newTicket(), newTicket()]
      expect(await Promise.all([records.start(fenced), records.start(other)])).toEqual([true, true])
      const fence = await openTx(server.ctx, fencing(fenced.commandId))
      const starts = watch(records.start(fenced))
      expect(await records.start(other)).toBe(true)
      const ends = watch(records.touch({ ...fenced, bytes: SIZE, last: true }))
      expect(await records.touch({ ...other, bytes: SIZE, last: true })).toBe(true)
      expect(await readRow(other.commandId)).toMatchObject({ bytesServed: String(SIZE), deliveredAt: now })
      expect([starts.isSettled(), ends.isSettled()]).toEqual([false, false])
      await fence[how]()
      expect(await Promise.all([starts.promise, ends.promise])).toEqual(
        how === 'rollBack' ? [true, true] : [false, false],
      )
      expect(await readRow(fenced.commandId)).toMatchObject(
        how === 'rollBack'
          ? { bytesServed: String(SIZE), deliveredAt: now, fencedAt: null }
          : { bytesServed: '0', deliveredAt: null, fencedAt: expect.any(Date) },
      )
    },
  )

  it('do not wait for the display of a device that another transaction is changing, and count its bytes once', async () => {
    const records = openRecords()
    const [device, another] = await claimNewDevices(server, 2)
    if (device === undefined || another === undefined) throw new Error('no devices')
    const tickets = [newTicket(), newTicket()] as const
    const shown = { progress: 10, status: 'inprogress', status_id: 1, timestamp: 0, will_retry: false } as const
    for (const { id } of [device, another]) await setFwUpdate(server.ctx.db, id, shown)
    await inTx(server.ctx, (tx) =>
      insertCommands(
        tx,
        systemScope('rollout', server.org.orgId),
        tickets.map(({ commandId }, index) => ({
          id: commandId,
          deviceId: [device, another][index]?.id ?? '',
          siteId: null,
          siteUpgradeId: null,
          attempt: 1,
          createdAt: now,
          expiresAt: now,
          kind: 'upgrade' as const,
          params: { image_id: imageId, version: '1.0' },
        })),
      ),
    )
    await Promise.all(tickets.map((ticket) => records.start(ticket)))
    const change = await openTx(server.ctx, (tx) =>
      tx.updateTable('deviceUpgrade').set({ willRetry: true }).where('deviceId', '=', device.id).execute(),
    )
    const first = watch(records.touch({ ...tickets[0], bytes: SIZE, last: true }))
    expect(await records.touch({ ...tickets[1], bytes: SIZE, last: true })).toBe(true)
    const [other] = await listFwUpdates(server.ctx.db, another.id)
    expect(other?.progress).toBeGreaterThan(10)
    await nextTurn()
    expect(first.isSettled()).toBe(false)
    await change.commit()
    expect(await first.promise).toBe(true)
    expect(await listFwUpdates(server.ctx.db, device.id)).toMatchObject([
      { progress: other?.progress, will_retry: true },
    ])
    expect(await readRow(tickets[0].commandId)).toMatchObject({ bytesServed: String(SIZE), deliveredAt: now })
  })

  it('continue by turns', async () => {
    const records = openRecords()
    const tickets = Array.from({ length: 100 }, newTicket)
    const running = { downloads: tickets.length }
    const inTurns: number[] = []
    const end = (): void => void (running.downloads -= 1)
    const starts = tickets.map((ticket) => records.start(ticket).then(end))
    while (running.downloads > 0) {
      const before = running.downloads
      await nextTurn()
      inTurns.push(before - running.downloads)
    }
    await Promise.all(starts)
    expect(Math.max(...inTurns)).toBe(32)
  })

  it('fail when the service stops while one is locked', async () => {
    const records = openRecords()
    const ticket = newTicket()
    await records.start(ticket)
    const fence = await openTx(server.ctx, fencing(ticket.commandId))
    const touched = records.touch({ ...ticket, bytes: SIZE, last: true })
    const [result] = await Promise.allSettled([touched, records.stop()])
    expect(result).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } })
    await fence.rollBack()
    expect(await readRow(ticket.commandId)).toMatchObject({ bytesServed: '0', deliveredAt: null })
  })
})
