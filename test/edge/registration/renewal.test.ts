// Agents renew their certificates over their sessions: the former one counts until the next one is used.
import { type KeyObject, X509Certificate, createHash, createPublicKey } from 'node:crypto'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { signingRequest } from '../../../src/agent/signing-request.ts'
import { issueDeviceCertificate, loadDeviceCa } from '../../../src/gateway/certificates/device-ca.ts'
import { lastRecords } from '../../support/fleets/mxedges.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { connectRouter, openRouter } from '../routers.ts'
import { startAgent, untilConnected } from '../start-agent.ts'
import { startRouter } from '../start-router.ts'
import {
  type AgentPeer,
  type EdgeWorld,
  connectAgent,
  eventTypes,
  newKey,
  openAgent,
  startEdgeWorld,
} from '../world.ts'

const DAY_MS = 24 * 3_600_000

let world: EdgeWorld
beforeAll(async () => {
  world = await startEdgeWorld()
})
afterAll(() => world.close())

const keySha256 = (key: KeyObject): string =>
  createHash('sha256')
    .update(createPublicKey(key).export({ type: 'spki', format: 'der' }))
    .digest('hex')

const rowOf = (id: string) =>
  world.ctx.db.selectFrom('mxedge').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

async function renew(agent: AgentPeer, id: number, key: KeyObject) {
  agent.call(id, 'renew', { csr: signingRequest(key) })
  return waitUntil('the answer to renew', () => agent.answers.find((answer) => answer.id === id) ?? null)
}

/** Runs a test with a clock at which today's certificates have less than a year left. */
async function nineYearsLater(run: () => Promise<void>): Promise<void> {
  const ms = (9 * 365 + 10) * DAY_MS
  world.shift(ms)
  try {
    await run()
  } finally {
    world.shift(-ms)
  }
}

test('the gateway says when a certificate must be renewed, and renews none before', async () => {
  const { agent, credentials } = await connectAgent(world)
  const nowMs = (): number => world.ctx.clock.now().getTime()
  const beganMs = nowMs()
  const again = await openAgent(world, credentials)
  const { renew_in_s: seconds } = (await again.hello()).result
  const expiresAt = new X509Certificate(credentials.certificate).validToDate.getTime()
  // The answer was made between the two times, and rounds to seconds.
  const answeredMs = expiresAt - 365 * DAY_MS - seconds * 1000
  expect(answeredMs).toBeGreaterThan(beganMs - 1000)
  expect(answeredMs).toBeLessThan(nowMs() + 1000)
  expect(await renew(again, 7, newKey())).toMatchObject({
    error: { code: 1, message: 'The certificate need not be renewed yet' },
  })
  agent.socket.terminate()
})

test('old and new key count until the new one is used, which ends the old one', () =>
  nineYearsLater(async () => {
    const { id, credentials: old } = await connectAgentOfOld()
    const agent = await openAgent(world, old)
    expect((await agent.hello()).result).toMatchObject({ renew_in_s: 0 })
    expect(await renew(agent, 7, old.key)).toMatchObject({ error: { code: -32602 } })
    agent.call(8, 'renew', { csr: 'nonsense' })
    await waitUntil('refused', () => agent.answers.some((answer) => answer.id === 8 && answer.error?.code === -32602))

    // The answer to the first renewal got lost.
    await renew(agent, 9, newKey())
    const key = newKey()
    const { result } = await renew(agent, 10, key)
    expect(new X509Certificate(result.certificate).validToDate.getTime()).toBeGreaterThan(
      world.ctx.clock.now().getTime() + 9 * 365 * DAY_MS,
    )
    expect(await rowOf(id)).toMatchObject({ registeredKey: keySha256(old.key), renewalKey: keySha256(key) })

    const stillOld = await openAgent(world, old)
    await stillOld.hello()
    expect((await rowOf(id)).registeredKey).toBe(keySha256(old.key))
    const next = await openAgent(world, { key, certificate: result.certificate, ca: result.ca })
    await next.hello()
    expect(await stillOld.closed).toBe(4409)
    expect(await rowOf(id)).toMatchObject({ registeredKey: keySha256(key), renewalKey: null })
    const { audit } = await lastRecords(world)
    expect(audit.message).toMatch(/^The agent of edge appliance .* renewed its certificate$/)
    expect(audit).toMatchObject({ before: { mxedge_id: id }, after: { mxedge_id: id } })
    expect((await eventTypes(world, id)).at(-1)).toBe('ME_CERTIFICATE_RENEWED')
    const late = await openAgent(world, old)
    await expect(late.hello()).rejects.toThrow('closed with 4001')
  }))

/** Registers now, as of the clock before it was moved. */
async function connectAgentOfOld() {
  const ms = (9 * 365 + 10) * DAY_MS
  world.shift(-ms)
  try {
    return await connectAgent(world)
  } finally {
    world.shift(ms)
  }
}

test('a session that another one has replaced can renew nothing', async () => {
  const { id, credentials, agent: former } = await connectAgent(world)
  await nineYearsLater(async () => {
    // Its close frame is still on its way.
    former.socket.pause()
    const agent = await openAgent(world, credentials)
    await agent.hello()
    former.call(7, 'renew', { csr: signingRequest(newKey()) })
    expect((await renew(agent, 7, newKey())).result).toBeDefined()
    const { renewalKey } = await rowOf(id)
    former.socket.resume()
    expect(await former.closed).toBe(4409)
    expect((await rowOf(id)).renewalKey).toBe(renewalKey)
    expect(former.answers.find((answer) => answer.id === 7)?.result).toBeUndefined()
  })
})

test('a router renews its certificate likewise', async () => {
  const router = await connectRouter(world)
  await nineYearsLater(async () => {
    const agent = await openRouter(world, router)
    expect((await agent.hello()).result).toMatchObject({ renew_in_s: 0 })
    const key = newKey()
    const { result } = await renew(agent, 7, key)
    const next = await openRouter(world, { ...router, key, certificate: result.certificate })
    await next.hello()
    expect((await lastRecords(world)).audit.message).toBe(`Router ${router.mac} renewed its certificate`)
    const late = await openRouter(world, router)
    await expect(late.hello()).rejects.toThrow('closed with 4001')
    expect(next.socket.readyState).toBe(next.socket.OPEN)
  })
})

async function credentialsIn(folder: string) {
  return JSON.parse(await readFile(join(folder, 'registration.json'), 'utf8'))
}

test.each(['edge', 'ssr'])('the %s agent renews by itself, and keeps one key', async (role) => {
  const { folder } = role === 'edge' ? await startConnected() : await startRouter(world)
  const before = await credentialsIn(folder)
  await nineYearsLater(async () => {
    // It connects again, and hears that the certificate is due.
    world.advance(200_000)
    const after = await waitUntil('the renewed certificate', async () => {
      const now = await credentialsIn(folder)
      return now.certificate !== before.certificate && now.key !== undefined ? now : null
    })
    const certificate = new X509Certificate(after.certificate)
    expect(certificate.subject).toBe(new X509Certificate(before.certificate).subject)
    expect(certificate.validToDate.getTime()).toBeGreaterThan(
      new X509Certificate(before.certificate).validToDate.getTime(),
    )
    await waitUntil('one pair is left', async () => {
      const names = await readdir(folder)
      return !names.some((name) => /^next|^key/.test(name))
    })
  })
})

async function startConnected() {
  const started = await startAgent(world)
  await untilConnected(world, started.id)
  return started
}

test('the agent uses its present certificate if the gateway does not know the next one', async () => {
  const { id, folder, stop } = await startConnected()
  await stop()
  const present = await credentialsIn(folder)
  const stranger = await issueDeviceCertificate(await loadDeviceCa(world.dataDir), `edge-${id}-1`)
  const next = { ...present, certificate: stranger.certificatePem, key: stranger.keyPem }
  await writeFile(join(folder, 'next.json'), JSON.stringify(next))
  await startAgent(world, { folder, code: 'USED-UP' })
  await waitUntil('connected by the present certificate', async () => {
    const { body } = await world.call('GET', `/orgs/${world.org.orgId}/stats/mxedges/${id}`)
    return body.status === 'connected' && !(await readdir(folder)).includes('next.json')
  })
})
