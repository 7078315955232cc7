import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/platform/time/clock.ts'
import { DEFAULT_DECODE_LIMITS } from '../../src/platform/images/decoder-limits.ts'
import { addSite, claimNewDevice } from '../support/fleets/devices.ts'
import { addPerson } from '../support/people.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { hollowPng, picture, pngWithTexts, postForm } from './pictures.ts'

/** Decoders yield the processors to everything else. */
vi.setConfig({ testTimeout: 120_000 })

const MIB = 1024 * 1024

let server: TestServer
let installer: TestOrg
let path: string
beforeAll(async () => {
  server = await startTestServer()
  const siteId = await addSite(server)
  installer = await addPerson(server, [{ scope: 'site', role: 'installer', site_id: siteId }])
  const device = await claimNewDevice(server, { siteId })
  path = `/installer/orgs/${server.org.orgId}/devices/${device.mac}/image1`
})
afterAll(() => server.close())

const upload = (bytes: Uint8Array, type = 'image/png') => postForm(server, path, { file: { bytes, type } }, installer)
const dir = () => join(server.dataDir, 'images')
const stored = async () => (await readdir(dir())).filter((name) => name !== 'incoming')

/** Calls the server, one call after the other, until `ended` settles. */
async function callsUntil(ended: Promise<unknown>): Promise<Answer[]> {
  const answers: Answer[] = []
  const isEnded = () => Promise.race([ended.then(() => true), setImmediate(false)])
  do answers.push(await server.call('GET', '/self'))
  while (!(await isEnded()))
  return answers
}

it('an image with a gigabyte of compressed texts costs the server no memory, and is stored without them', async () => {
  const bomb = pngWithTexts()
  expect(bomb.length).toBeLessThan(MIB)
  const before = process.resourceUsage().maxRSS
  const uploading = upload(bomb)
  const others = await callsUntil(uploading)
  expect(await uploading).toMatchObject({ status: 200, body: {} })
  const growthMib = (process.resourceUsage().maxRSS - before) / 1024
  expect(growthMib).toBeLessThan(200)
  expect(others.map(({ status }) => status)).toSatisfy((all: number[]) => all.every((status) => status === 200))
  const [name = ''] = await stored()
  const kept = await readFile(join(dir(), name))
  expect(kept.length).toBeLessThan(200)
  expect(await sharp(kept).metadata()).toMatchObject({ format: 'png', width: 8, height: 8 })
})

it('an image with too many pixels is refused with its field, and nothing of it is stored', async () => {
  const before = await stored()
  expect(await upload(hollowPng(40_000, 40_000))).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('Invalid field file: '), reason: 'has more than 50000000 pixels' },
  })
  expect(await stored()).toEqual(before)
  expect(await readdir(join(dir(), 'incoming'))).toEqual([])
})

it('an image that needs too much processor time to decode is refused with its field', async () => {
  // No process can start and decode within a millisecond.
  const decode = { ...DEFAULT_DECODE_LIMITS, cpuMs: 1 }
  const hasty = await startTestServer(systemClock, {}, null, { decode })
  try {
    const maps = `/sites/${await addSite(hasty)}/maps`
    const { body: map } = await hasty.call('POST', maps, { body: { name: 'Plan' } })
    const file = { bytes: await picture(64, 48), type: 'image/png' }
    expect(await postForm(hasty, `${maps}/${map.id}/image`, { file })).toMatchObject({
      status: 400,
      body: {
        detail: expect.stringContaining('Invalid field file: '),
        reason: 'takes more than 0.001 s of processor time to decode',
      },
    })
    expect(await readdir(join(hasty.dataDir, 'images'))).toEqual(['incoming'])
  } finally {
    await hasty.close()
  }
})

it('a photo is shown upright, without the place and time that its camera recorded', async () => {
  const photo = sharp(await picture(40, 30, { format: 'jpeg' }))
  const bytes = await photo
    .withExif({ IFD0: { Make: 'Secret camera' }, IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 0/1' } })
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer()
  expect(bytes.includes('Secret camera')).toBe(true)
  const known = await stored()
  expect((await upload(bytes, 'image/jpeg')).status).toBe(200)
  const name = (await stored()).find((one) => !known.includes(one)) ?? ''
  const kept = await readFile(join(dir(), name))
  expect(kept.includes('Secret camera')).toBe(false)
  expect((await sharp(kept).metadata()).autoOrient).toMatchObject({ width: 30, height: 40 })
  expect((await sharp(kept).metadata()).exif?.length).toBeLessThan(64)
})
