import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { systemScope } from '../../../src/access/scope.ts'
import { insertCommands } from '../../../src/devices/commands/store.ts'
import { downloadImage } from '../../../src/firmware/downloads/download-image.ts'
import { createDownloadRecords } from '../../../src/firmware/downloads/download-records.ts'
import { createSharedFiles } from '../../../src/firmware/downloads/shared-files.ts'
import type { PaceLane, SitePace } from '../../../src/firmware/downloads/site-pace.ts'
import { sweepFirmwareFiles } from '../../../src/firmware/storage/storage.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { addSite, claimNewDevice } from '../../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

const SIZE = 100_000

let server: TestServer
let imageId: string
beforeAll(async () => {
  server = await startTestServer()
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
  const { body } = await server.call('POST', `/orgs/${server.org.orgId}/firmware?version=1.0&models=AP45`, {
    headers: { 'content-type': 'application/octet-stream' },
    body: Buffer.alloc(SIZE, 7),
  })
  imageId = body.id
})
afterAll(() => server.close())

/** @param siteId Null: the command is for a device without a site. */
async function command(siteId: string | null): Promise<string> {
  const { id: deviceId } = await claimNewDevice(server)
  const [id, createdAt] = [uuidv7(), new Date()]
  const order = { id, deviceId, siteId, siteUpgradeId: null, attempt: 1, createdAt, expiresAt: createdAt }
  const params = { image_id: imageId, version: '1.0' }
  await inTx(server.ctx, (tx) =>
    insertCommands(tx, systemScope('rollout', server.org.orgId), [{ ...order, kind: 'upgrade', params }]),
  )
  return id
}

/** Downloads the image by a command. */
async function download(commandId: string, pace: SitePace): Promise<Buffer> {
  const { ctx, org, dataDir } = server
  const records = createDownloadRecords(ctx)
  onTestFinished(() => records.stop())
  const ticket = { orgId: org.orgId, commandId, imageId }
  const image = await records.find(ticket)
  if (image === undefined) throw new Error('there is no image')
  const files = { dir: join(dataDir, 'firmware'), shared: createSharedFiles() }
  const limits = { siteBytesPerS: 1e9, slowChunkMs: 60_000 }
  const range = { start: 0, end: SIZE - 1 }
  const part = { files, ticket, range, image, records, pace, limits, onDelay: () => undefined }
  return buffer(await downloadImage(ctx, part))
}

it('the bandwidth is that of the site of the command, or of the organization, and each command has its own turns', async () => {
  const site = await addSite(server)
  const opened: string[][] = []
  const lane: PaceLane = { take: () => Promise.resolve(true), close: () => undefined }
  const pace: SitePace = {
    open(...names) {
      opened.push(names)
      return lane
    },
  }
  const commands = [await command(site), await command(site), await command(null), uuidv7()]
  for (const id of commands) expect(await download(id, pace)).toHaveLength(SIZE)
  const { orgId } = server.org
  expect(opened).toEqual([site, site, orgId, orgId].map((place, index) => [place, commands[index]]))
})

it('every byte is granted before it is sent, and nothing follows the end of the lane', async () => {
  const granted: number[] = []
  const lane: PaceLane = {
    take(bytes) {
      granted.push(bytes)
      return Promise.resolve(granted.length <= 3)
    },
    close: () => void granted.push(-1),
  }
  const sent = await download(await command(null), { open: () => lane })
  expect(granted).toEqual([16_384, 16_384, 16_384, 16_384, -1])
  expect(sent).toHaveLength(3 * 16_384)
})
