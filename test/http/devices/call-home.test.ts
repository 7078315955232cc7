import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addSite, claimNewDevice } from '../../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const org = (path: string, orgId = server.org.orgId): string => `/orgs/${orgId}${path}`
const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGm6cbCMV5YJJfVdfUNDOqYLQwZtzUq6YhHzXqQvSy4F'

describe('the commands of Junos devices', () => {
  test('name the service, the organization and its secret, and admit the key of the service', async () => {
    const { status, body } = await server.call('GET', org('/ocdevices/outbound_ssh_cmd'))
    expect(status).toBe(200)
    const lines = String(body.cmd).split('\n')
    const client = 'set system services outbound-ssh client signalbox'
    expect(lines.every((line) => line.startsWith('set system '))).toBe(true)
    expect(lines).toContain(`${client} device-id ${server.org.orgId}`)
    expect(lines).toContain(`${client} services netconf`)
    expect(lines).toContain(`${client} signalbox.example.test port 4334 timeout 60 retry 1000`)
    expect(body.cmd).toMatch(/client signalbox secret [A-Za-z0-9]{32}\n/)
    expect(body.cmd).toMatch(/authentication ssh-ed25519 "ssh-ed25519 AAAA[A-Za-z0-9+/=]+ signalbox"\n/)
    expect((await server.call('GET', org('/ocdevices/outbound_ssh_cmd'))).body).toEqual(body)
  })

  test('take a site of the organization alone', async () => {
    const cmd = org('/ocdevices/outbound_ssh_cmd')
    expect(await server.call('GET', `${cmd}?site_id=${await addSite(server)}`)).toMatchObject({ status: 200 })
    const foreign = '00000000-0000-4000-8000-000000000000'
    expect(await server.call('GET', `${cmd}?site_id=${foreign}`)).toMatchObject({
      status: 400,
      body: { detail: `Invalid field site_id: the organization has no site ${foreign}` },
    })
    expect(await server.call('GET', `${cmd}?site_id=x`)).toMatchObject({ status: 400 })
  })

  test('have another secret in each organization, and after each rotation', async () => {
    const other = await server.addOrg('Other')
    const secretOf = (cmd: string): string => /secret (\w+)/.exec(cmd)?.[1] ?? ''
    const read = async (as = server.org): Promise<string> =>
      secretOf((await server.call('GET', org('/ocdevices/outbound_ssh_cmd', as.orgId), { as })).body.cmd)
    const first = await read()
    const rotated = await server.call('POST', org('/ocdevices/outbound_ssh_cmd/rotate'))
    expect(rotated.status).toBe(200)
    const second = secretOf(rotated.body.cmd)
    expect(await read()).toBe(second)
    expect(new Set([first, second, await read(other)]).size).toBe(3)
    expect(createHmac('sha1', second).update('').digest('hex')).toHaveLength(40)
  })
})

describe('the host keys of a device', () => {
  test('are replaced as a whole', async () => {
    const device = await claimNewDevice(server)
    const keys = org(`/devices/${device.id}/ssh_host_keys`)
    expect(await server.call('GET', keys)).toMatchObject({ status: 200, body: { device_id: device.id, keys: [] } })
    const set = await server.call('PUT', keys, { body: { keys: [key, `${key} again`] } })
    expect(set).toMatchObject({ status: 200, body: { keys: [{ fingerprint: expect.stringMatching(/^SHA256:/) }] } })
    expect((await server.call('GET', keys)).body).toEqual(set.body)
    expect(await server.call('PUT', keys, { body: { keys: [] } })).toMatchObject({ status: 200, body: { keys: [] } })
  })

  test('must be keys', async () => {
    const device = await claimNewDevice(server)
    const keys = org(`/devices/${device.id}/ssh_host_keys`)
    expect(await server.call('PUT', keys, { body: { keys: [key, 'AAAA'] } })).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/^Invalid field keys\.1: AAAA is neither/) },
    })
  })
})
