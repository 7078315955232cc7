import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { lazily } from '../../../src/platform/lazily.ts'
import { hollowPng, picture, pngWithTexts } from '../../../test/maps/pictures.ts'
import { type Attack, type AttackRun, inLanes } from './attack.ts'
import { callAsTenant, pause, strikeAsTenant } from './call.ts'

/** The number of concurrent requests that an account may have. */
const LANES = 100
/** The number of bodies of 900 KB that it may have. */
const BODY_LANES = 35
const LARGE_SITES = 40
const LARGE_SITE_BYTES = 120_000
const LARGE_SETTING_BYTES = 900_000
const ORGS_WITH_SETTINGS = 20
const AUDIT_WEBHOOKS = 150
const IMAGE_BYTES = 8 * 1024 * 1024
/** An upload every 10 ms would measure little but the network. */
const UPLOAD_PAUSE_MS = 10

const textOf = (bytes: number): string => randomBytes((bytes * 3) / 4).toString('base64')

/** Creates sites whose documents together exceed a page by bytes. */
async function createLargeSites({ world, tenant }: AttackRun): Promise<void> {
  for (let index = 0; index < LARGE_SITES; index += 1) {
    const body = JSON.stringify({ name: `Site ${index}`, note: textOf(LARGE_SITE_BYTES) })
    await callAsTenant(world, tenant, { method: 'POST', path: `/orgs/${tenant.orgId}/sites`, body })
  }
}

const largePage = ({ tenant }: AttackRun): string => `/orgs/${tenant.orgId}/sites?limit=1000`

const pages: Attack = {
  what: 'reads pages of documents of 120 KB, as many at a time as it may',
  prepare: createLargeSites,
  run: (run) => inLanes(LANES, run, () => strikeAsTenant(run, { method: 'GET', path: largePage(run) })),
}

const unread: Attack = {
  what: 'asks for such pages and never reads the answers',
  prepare: createLargeSites,
  async run(run) {
    const { world, tenant, signal, count } = run
    const headers = Object.entries(tenant.headers).map(([name, value]) => `${name}: ${value}\r\n`)
    await inLanes(LANES, run, async () => {
      const socket = connect({ host: world.host, port: world.port, localAddress: '127.0.0.67' })
      socket.on('error', () => undefined)
      socket.pause()
      socket.write(`GET /api/v1${largePage(run)} HTTP/1.1\r\nHost: x\r\n${headers.join('')}\r\n`)
      count('asked')
      await once(socket, 'close', { signal }).catch(() => undefined)
      socket.destroy()
      await pause(100, signal)
    })
  },
}

const settings: Attack = {
  what: `asks who it is, with ${ORGS_WITH_SETTINGS} organizations whose settings have 900 KB each`,
  async prepare({ world, tenant }) {
    for (let index = 0; index < ORGS_WITH_SETTINGS; index += 1) {
      const org = JSON.stringify({ name: `Organization ${index}` })
      const made = await callAsTenant(world, tenant, { method: 'POST', path: '/orgs', body: org })
      const body = JSON.stringify({ note: textOf(LARGE_SETTING_BYTES) })
      const { id } = made as { readonly id: string }
      await callAsTenant(world, tenant, { method: 'PUT', path: `/orgs/${id}/setting`, body })
    }
  },
  run: (run) => inLanes(LANES, run, () => strikeAsTenant(run, { method: 'GET', path: '/self' })),
}

const bodies: Attack = {
  what: 'writes settings of 900 KB, as many at a time as it may',
  async run(run) {
    const texts = Array.from({ length: 4 }, () => JSON.stringify({ note: textOf(LARGE_SETTING_BYTES) }))
    const path = `/orgs/${run.tenant.orgId}/setting`
    await inLanes(BODY_LANES, run, (lane, round) => {
      const body = texts[(lane + round) % texts.length] ?? ''
      return strikeAsTenant(run, { method: 'PUT', path, body })
    })
  },
}

const structures: Attack = {
  what: 'writes settings of 100,000 objects, and of 30,000 secrets, as many at a time as it may',
  async run(run) {
    const objects = JSON.stringify({ note: Array.from({ length: 100_000 }, () => ({ b: 1 })) })
    const secrets = JSON.stringify({ note: Array.from({ length: 30_000 }, (_, index) => ({ psk: `s${index}` })) })
    const path = `/orgs/${run.tenant.orgId}/setting`
    await inLanes(BODY_LANES, run, (lane, round) =>
      strikeAsTenant(run, { method: 'PUT', path, body: (lane + round) % 2 === 0 ? objects : secrets }),
    )
  },
}

/** Webhooks that the next run uses, by their organization. */
const auditWebhooks = new Map<string, readonly string[]>()

async function createAuditWebhooks({ world, tenant }: AttackRun): Promise<readonly string[]> {
  const path = `/orgs/${tenant.orgId}/webhooks`
  const urls = Array.from({ length: AUDIT_WEBHOOKS }, (_, index) => `${world.deafReceiver}/${index}`)
  const ids: string[] = []
  for (const url of urls) {
    const body = JSON.stringify({ url, topics: ['audits'] })
    const made = await callAsTenant(world, tenant, { method: 'POST', path, body })
    ids.push((made as { readonly id: string }).id)
  }
  return ids
}

const audits: Attack = {
  what: `changes a site again and again, with ${AUDIT_WEBHOOKS} webhooks on audits whose receiver never answers`,
  async prepare(run) {
    auditWebhooks.set(run.tenant.orgId, await createAuditWebhooks(run))
  },
  async run(run) {
    const { world, tenant } = run
    const ids = auditWebhooks.get(tenant.orgId) ?? (await createAuditWebhooks(run))
    await inLanes(20, run, (lane, round) => {
      const body = JSON.stringify({ name: `Site ${lane}.${round}` })
      return strikeAsTenant(run, { method: 'PUT', path: `/sites/${tenant.siteId}`, body })
    })
    // Otherwise the waiting messages would be part of the next attack.
    auditWebhooks.delete(tenant.orgId)
    const path = `/orgs/${tenant.orgId}/webhooks`
    for (const id of ids) await callAsTenant(world, tenant, { method: 'DELETE', path: `${path}/${id}` })
  },
}

/** Made before the attack: real attackers make them on their own machines. */
const pictureFiles = lazily(async () => [await picture(7000, 7000), pngWithTexts(), hollowPng(40_000, 40_000)])

const pictures: Attack = {
  what: 'uploads pictures of 49 million pixels, of a gigabyte of compressed texts, and of more pixels than allowed',
  async prepare() {
    await pictureFiles.get()
  },
  async run(run) {
    const { world, tenant, signal } = run
    const maps = `/sites/${tenant.siteId}/maps`
    const files = await pictureFiles.get()
    const made = await callAsTenant(world, tenant, { method: 'POST', path: maps, body: '{"name":"Plan"}' })
    const path = `${maps}/${(made as { readonly id: string }).id}/image`
    await inLanes(20, run, async (lane, round) => {
      const { headers, body } = formOf(files[(lane + round) % files.length] ?? Buffer.alloc(0))
      await strikeAsTenant(run, { method: 'POST', path, headers, body })
      await pause(UPLOAD_PAUSE_MS, signal)
    })
  },
}

function formOf(file: Uint8Array): { readonly headers: Record<string, string>; readonly body: Buffer } {
  const boundary = 'a5b0c4d3e2f1'
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="plan.png"\r\nContent-Type: image/png\r\n\r\n`
  const body = Buffer.concat([Buffer.from(head), file, Buffer.from(`\r\n--${boundary}--\r\n`)])
  return { headers: { 'content-type': `multipart/form-data; boundary=${boundary}` }, body }
}

const disk: Attack = {
  what: 'uploads firmware images of 8 MiB until there is no room for more, and goes on',
  async run(run) {
    const { tenant, signal } = run
    const headers = { 'content-type': 'application/octet-stream' }
    await inLanes(8, run, async (lane, round) => {
      const path = `/orgs/${tenant.orgId}/firmware?models=EAP101&version=1.${lane}.${round}`
      await strikeAsTenant(run, { method: 'POST', path, headers, body: randomBytes(IMAGE_BYTES) })
      await pause(UPLOAD_PAUSE_MS, signal)
    })
  },
}

/** Work that tenants can cause within their permissions. */
export const workAttacks = { pages, unread, settings, bodies, structures, audits, pictures, disk }
