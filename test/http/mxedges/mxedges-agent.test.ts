import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addSite } from '../../support/fleets/devices.ts'
import { addMxedge } from '../../support/fleets/mxedges.ts'
import { addPerson } from '../../support/people.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let mxedges: string
let id: string
beforeAll(async () => {
  server = await startTestServer()
  mxedges = `/orgs/${server.org.orgId}/mxedges`
  ;({ id } = await addMxedge(server))
})
afterAll(() => server.close())

describe('operations that need a connected appliance', () => {
  it.each([
    ['services/tunterm/restart', {}],
    ['services/mxagent/stop', {}],
    ['services/tunterm/bounce_port', { ports: ['0', '1'], hold_time: 4000 }],
    ['services/tunterm/disconnect_aps', { macs: ['5c5b350e0001'] }],
  ])('%s is refused, and not recorded', async (path, body) => {
    const events = () => server.call('GET', `${mxedges}/events/search`)
    const before = (await events()).body.total
    const answer = await server.call('POST', `${mxedges}/${id}/${path}`, { body })
    expect([answer.status, answer.body]).toEqual([400, { detail: 'The edge appliance is not connected' }])
    expect((await events()).body.total).toBe(before)
  })

  it.each([
    ['services/sshd/restart', {}, 'name'],
    ['services/tunterm/upgrade', {}, 'action'],
    ['services/tunterm/bounce_port', {}, 'ports'],
    ['services/tunterm/disconnect_aps', { macs: [] }, 'macs'],
  ])('%s with %j is refused with the name of the field', async (path, body, field) => {
    const answer = await server.call('POST', `${mxedges}/${id}/${path}`, { body })
    expect([answer.status, answer.body.detail]).toEqual([400, expect.stringContaining(`Invalid field ${field}: `)])
  })

  it('require the role to operate', async () => {
    const path = `${mxedges}/${id}/services/tunterm/restart`
    const helpdesk = await addPerson(server, [{ scope: 'org', role: 'helpdesk' }])
    const reader = await addPerson(server, [{ scope: 'org', role: 'read' }])
    expect((await server.call('POST', path, { as: helpdesk })).status).toBe(400)
    expect((await server.call('POST', path, { as: reader })).status).toBe(403)
    expect((await server.call('POST', `${mxedges}/${id}/restart`, { as: helpdesk })).status).toBe(403)
  })

  it('also look for the appliance at its site', async () => {
    const siteId = await addSite(server)
    const path = `/sites/${siteId}/mxedges/${id}/support`
    expect((await server.call('POST', path)).status).toBe(404)
    await server.call('POST', `${mxedges}/assign`, { body: { mxedge_ids: [id], site_id: siteId } })
    expect((await server.call('POST', path)).status).toBe(400)
  })
})

it('the list of package versions is empty', async () => {
  for (const path of ['version', 'versions?channel=beta&distro=bookworm'])
    expect(await server.call('GET', `${mxedges}/${path}`)).toMatchObject({ status: 200, body: [] })
  expect((await server.call('GET', `${mxedges}/versions?channel=x`)).status).toBe(400)
})

it('the name and model of a virtual machine are returned, and other hardware is refused', async () => {
  expect((await server.call('GET', `${mxedges}/${id}/vm_params`)).body).toMatchObject({ name: 'Edge', model: 'ME-VM' })
  const vm = await addMxedge(server, { model: 'VM' })
  expect((await server.call('GET', `${mxedges}/${vm.id}/vm_params`)).body).toMatchObject({ name: 'Edge', model: 'VM' })
  const box = await addMxedge(server, { model: 'ME-X5' })
  expect((await server.call('GET', `${mxedges}/${box.id}/vm_params`)).status).toBe(400)
})

it('the user data of a virtual machine is shown to those who see its registration code', async () => {
  const { id: vm, magic } = await addMxedge(server)
  const path = `${mxedges}/${vm}/vm_params`
  const { body } = await server.call('GET', path)
  expect(body.user_data).toContain(`SIGNALBOX_AGENT_CODE=${magic}`)
  for (const role of ['helpdesk', 'read'] as const) {
    const reader = await addPerson(server, [{ scope: 'org', role }])
    expect((await server.call('GET', path, { as: reader })).body).toEqual({ name: 'Edge', model: 'ME-VM' })
  }
  const setting = `/orgs/${server.org.orgId}/setting`
  await server.call('PUT', setting, { body: { api_policy: { no_reveal: true } } })
  expect((await server.call('GET', path)).body).not.toHaveProperty('user_data')
  await server.call('PUT', setting, { body: { api_policy: { no_reveal: false } } })
})
