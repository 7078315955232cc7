import { createPrivateKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { issueDeviceCertificate, loadDeviceCa } from '../../../src/gateway/certificates/device-ca.ts'
import { addMxedge, lastRecords, makeMxedge } from '../../support/fleets/mxedges.ts'
import { waitUntil } from '../../support/wait-until.ts'
import {
  type EdgeWorld,
  connectAgent,
  eventTypes,
  hello,
  newKey,
  openAgent,
  register,
  startEdgeWorld,
  tryToRegister,
} from '../world.ts'

let world: EdgeWorld
beforeAll(async () => {
  world = await startEdgeWorld()
})
afterAll(() => world.close())

const pathOf = (id: string) => `/orgs/${world.org.orgId}/mxedges/${id}`
const session = (id: string) =>
  world.ctx.db.selectFrom('mxedgeSession').selectAll().where('mxedgeId', '=', id).executeTakeFirst()
const untilDown = (id: string) => waitUntil('disconnected', async () => (await session(id))?.connected === false)

describe('an agent that connects', () => {
  test('is recorded with its report, and gets the configuration of its appliance', async () => {
    const { id, magic } = await addMxedge(world, { ntp_servers: ['192.0.2.1'], name: 'North' })
    const agent = await openAgent(world, await register(world, magic))
    expect((await agent.hello()).result).toEqual({ interval_s: 60, renew_in_s: expect.any(Number) })
    expect(await session(id)).toMatchObject({ connected: true, facts: { boot_id: 'first-boot', distro: 'bookworm' } })
    const configuration = await agent.nextConfiguration()
    expect(configuration.params).toMatchObject({
      configuration: { name: 'North', model: 'ME-VM', ntp_servers: ['192.0.2.1'] },
    })
    agent.succeed(configuration)
    await waitUntil('configured', async () => (await eventTypes(world, id)).includes('ME_CONFIGURED'))
    expect((await eventTypes(world, id)).slice(1)).toEqual(['ME_REGISTERED', 'ME_CONNECTED', 'ME_CONFIGURED'])

    const again = await openAgent(world, await reRegistered(id))
    await again.hello({ config_sha256: configuration.params.sha256 })
    await world.call('PUT', pathOf(id), { body: { ntp_servers: ['192.0.2.2'] } })
    const changed = await again.nextConfiguration()
    expect(changed.params.configuration.ntp_servers).toEqual(['192.0.2.2'])
    expect(changed.params.sha256).not.toBe(configuration.params.sha256)
  })

  /** The new credentials of the appliance, after a restart of its registration. */
  async function reRegistered(id: string) {
    await world.call('POST', `${pathOf(id)}/restart`)
    return register(world, (await world.call('GET', pathOf(id))).body.magic)
  }

  test('replaces its older connection, and its reboot is an event', async () => {
    const { id, credentials, agent } = await connectAgent(world)
    const newer = await openAgent(world, credentials)
    await newer.hello({ boot_id: 'second-boot' })
    expect(await agent.closed).toBe(4409)
    expect(await eventTypes(world, id)).toContain('ME_RESTARTED')
    newer.socket.close()
    await untilDown(id)
    expect((await eventTypes(world, id)).at(-1)).toBe('ME_DISCONNECTED')
  })

  test('has to say hello first, and in a way that can be understood', async () => {
    const { magic } = await addMxedge(world)
    const credentials = await register(world, magic)
    const silent = await openAgent(world, credentials)
    silent.notify('report', hello.report)
    expect(await silent.closed).toBe(1008)
    const strange = await openAgent(world, credentials)
    strange.call(1, 'hello', { ...hello, boot_id: 7 })
    expect(await strange.closed).toBe(1008)
    expect(strange.answers).toMatchObject([{ id: 1, error: { code: -32602 } }])
  })

  test('gets the standard error for a method that the gateway does not have', async () => {
    const { agent } = await connectAgent(world)
    agent.call(9, 'take.over', {})
    const answer = await waitUntil('an answer', () => agent.answers.find(({ id }) => id === 9) ?? null)
    expect(answer.error).toEqual({ code: -32601, message: 'The gateway has no such method' })
  })
})

describe('the restart of a registration', () => {
  test.each(['restart', 'unregister'])(
    '%s disconnects the appliance for good, so that another one can register',
    async (action) => {
      const { id, credentials, agent } = await connectAgent(world)
      const { magic: oldCode } = (await world.call('GET', pathOf(id))).body
      expect(await world.call('POST', `${pathOf(id)}/${action}`)).toMatchObject({ status: 200, body: {} })
      expect(await agent.closed).toBe(4001)
      await untilDown(id)
      const after = (await world.call('GET', pathOf(id))).body
      expect(after).toMatchObject({ mxagent_registered: false, magic: expect.not.stringMatching(oldCode) })
      expect((await lastRecords(world)).audit.message).toContain('Restart the registration of edge appliance')

      // The old box is faster than its replacement.
      const old = await openAgent(world, credentials)
      await expect(old.hello()).rejects.toThrow('closed with 4001')
      expect((await tryToRegister(world, oldCode, newKey())).status).toBe(400)
      expect((await tryToRegister(world, oldCode, credentials.key)).status).toBe(400)

      const replacement = await openAgent(world, await register(world, after.magic))
      await replacement.hello({ boot_id: 'of-another-box' })
      expect(await session(id)).toMatchObject({ connected: true, facts: { boot_id: 'of-another-box' } })
      const late = await openAgent(world, credentials)
      await expect(late.hello()).rejects.toThrow('closed with 4001')
      expect(await session(id)).toMatchObject({ connected: true, facts: { boot_id: 'of-another-box' } })
      replacement.socket.close()
    },
  )

  test('refuses the old box even where its replacement has the same epoch in another organization', async () => {
    const hardware = await makeMxedge(world.ctx)
    await world.call('POST', `/orgs/${world.org.orgId}/mxedges/claim`, { body: { code: hardware.claim_code } })
    const credentials = await register(world, hardware.claim_code)
    const agent = await openAgent(world, credentials)
    await agent.hello()
    await world.call('DELETE', pathOf(hardware.id))
    expect(await agent.closed).toBe(4001)
    const buyer = await world.addOrg('Buyer')
    await world.call('POST', `/orgs/${buyer.orgId}/mxedges/claim`, { as: buyer, body: { code: hardware.claim_code } })
    const old = await openAgent(world, credentials)
    await expect(old.hello()).rejects.toThrow('closed with 4001')
    await register(world, hardware.claim_code)
    const still = await openAgent(world, credentials)
    await expect(still.hello()).rejects.toThrow('closed with 4001')
  })
})

test('the certificate of a device opens no connection of an agent', async () => {
  const { certificatePem, keyPem } = await issueDeviceCertificate(await loadDeviceCa(world.dataDir), '24fe9a0f48f0')
  const { magic } = await addMxedge(world)
  const { ca } = await register(world, magic)
  const device = { mxedgeId: '', key: createPrivateKey(keyPem), certificate: certificatePem, ca }
  await expect(openAgent(world, device)).rejects.toThrow('403')
})
