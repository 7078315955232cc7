import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addSite } from '../../support/fleets/devices.ts'
import { addCluster, addMxedge, lastRecords } from '../../support/fleets/mxedges.ts'
import { addPerson } from '../../support/people.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'
import { listenTo } from '../../support/peers/webhooks.ts'

let server: TestServer
let siteId: string
let mxedges: string
let clusters: string
beforeAll(async () => {
  server = await startTestServer()
  await listenTo(server, 'mxedge-events')
  siteId = await addSite(server)
  mxedges = `/orgs/${server.org.orgId}/mxedges`
  clusters = `/orgs/${server.org.orgId}/mxclusters`
})
afterAll(() => server.close())

const assign = (ids: readonly string[]) =>
  server.call('POST', `${mxedges}/assign`, { body: { mxedge_ids: ids, site_id: siteId } })

describe('edge appliances', () => {
  it('are created with a code of their own, and are nowhere shown as connected', async () => {
    const { id, magic, created_time, modified_time, ...rest } = await addMxedge(server, { name: 'Made' })
    expect(rest).toEqual({
      org_id: server.org.orgId,
      for_site: false,
      name: 'Made',
      model: 'ME-VM',
      mxagent_registered: false,
      tunterm_registered: false,
    })
    expect(magic).toMatch(/^[0-9A-Z]{15}$/)
    expect(created_time).toBe(modified_time)
    expect((await server.call('GET', `${mxedges}/${id}`)).body).toMatchObject({ id, magic, name: 'Made' })
  })

  it('keep each field that was set, including those of later versions, and unset it by a minus sign', async () => {
    const ports = { upstream_ports: ['0', '1'], separate_upstream_downstream: true, later: { than: [1, null] } }
    const { id } = await addMxedge(server, { tunterm_port_config: ports, services: ['tunterm'], later: 1 })
    const own = { id, mxagent_registered: true, for_site: false, site_id: null, mac: null }
    const put = (body: object) => server.call('PUT', `${mxedges}/${id}`, { body })
    const changed = await put({ ...own, notes: 'changed', '-later': '' })
    expect(changed).toMatchObject({
      status: 200,
      body: { id, tunterm_port_config: ports, services: ['tunterm'], notes: 'changed', for_site: false },
    })
    for (const field of ['later', 'mac', 'site_id']) expect(changed.body).not.toHaveProperty(field)
    expect(changed.body).toMatchObject({ mxagent_registered: false })
    for (const another of [{ id: randomUUID() }, { magic: 'X' }, { for_site: true }, { site_id: siteId }])
      expect(await put({ ...another, notes: 'lost' })).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining(`Invalid field ${Object.keys(another).join()}: `) },
      })
    expect(await put({ mac: '020000000001' })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field mac: ') },
    })
    expect(await put({ '-name': '' })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field name: ') },
    })
    expect((await server.call('GET', `${mxedges}/${id}`)).body).toEqual(changed.body)
  })

  it.each([7, '7', '{{uplink_vlan}}'])('return the upstream VLAN %j as it was sent', async (vlan) => {
    const ports = { tunterm_port_config: { upstream_port_vlan_id: vlan } }
    const { id, ...made } = await addMxedge(server, ports)
    expect(made).toMatchObject(ports)
    expect((await server.call('GET', `${mxedges}/${id}`)).body).toMatchObject(ports)
  })

  it.each([
    [{ tunterm_port_config: { upstream_port_vlan_id: true } }, 'tunterm_port_config.upstream_port_vlan_id'],
    [{ name: 5 }, 'name'],
    [{ name: '' }, 'name'],
    [{ model: null }, 'model'],
    [{ services: 'tunterm' }, 'services'],
    [{ mxcluster_id: 'x' }, 'mxcluster_id'],
    [{ mxcluster_id: randomUUID() }, 'mxcluster_id'],
    [{ oob_ip_config: { type: 'x' } }, 'oob_ip_config.type'],
    [{ tunterm_ip_config: { ip: '10.0.0.1', netmask: '255.255.255.0' } }, 'tunterm_ip_config'],
    [{ tunterm_igmp_snooping_config: { querier: { robustness: 8 } } }, 'tunterm_igmp_snooping_config'],
  ])('refuse %j with the name of the field, and change nothing', async (body, field) => {
    const { id } = await addMxedge(server)
    const before = await server.call('GET', `${mxedges}/${id}`)
    const refused = await server.call('PUT', `${mxedges}/${id}`, { body })
    expect(refused.status).toBe(400)
    expect(refused.body.detail).toContain(field)
    expect((await server.call('GET', `${mxedges}/${id}`)).body).toEqual(before.body)
    const made = await server.call('POST', mxedges, { body: { name: 'Refused', model: 'ME-VM', ...body } })
    expect(made.status).toBe(400)
  })

  it('keep their model when a client sends an empty one, as one does after a claim', async () => {
    const { id } = await addMxedge(server, { model: 'ME-X5' })
    const changed = await server.call('PUT', `${mxedges}/${id}`, { body: { name: 'Renamed', model: '' } })
    expect(changed).toMatchObject({ status: 200, body: { name: 'Renamed', model: 'ME-X5' } })
  })

  it('require a name and a model', async () => {
    for (const [body, field] of [[{ model: 'ME-VM' }, 'name'] as const, [{ name: 'x' }, 'model'] as const])
      expect((await server.call('POST', mxedges, { body })).body).toMatchObject({
        detail: expect.stringContaining(`Invalid field ${field}: `),
      })
  })

  it('show secrets only to callers who may write, and never in the audit log', async () => {
    const body = {
      name: 'Secretive',
      mxedge_mgmt: { root_password: 'r00t', mist_password: 'm1st', fips_enabled: true },
      proxy: { url: 'https://user:hidden@proxy.example.test:3128/' },
    }
    const made = await addMxedge(server, body)
    expect(made).toMatchObject(body)
    const as = await addPerson(server, [{ scope: 'org', role: 'read' }])
    const shown = await server.call('GET', `${mxedges}/${made.id}`, { as })
    expect(shown.body).toMatchObject({
      mxedge_mgmt: { fips_enabled: true },
      proxy: { url: 'https://proxy.example.test:3128/' },
    })
    expect(shown.body).not.toHaveProperty('magic')
    const { audit, event } = await lastRecords(server)
    for (const secret of ['r00t', 'm1st', 'hidden', made.magic])
      expect(JSON.stringify([shown.body, audit, event])).not.toContain(secret)
  })

  it('show secrets only in the answer to their write if the organization hides them', async () => {
    const setting = `/orgs/${server.org.orgId}/setting`
    await server.call('PUT', setting, { body: { api_policy: { no_reveal: true } } })
    const written = { proxy: { url: 'https://user:hidden@proxy.example.test:3128/' }, radsec: { server_key: 'k' } }
    for (const [path, made] of [
      [mxedges, await addMxedge(server, written)],
      [`/orgs/${server.org.orgId}/mxclusters`, await addCluster(server, written)],
    ] as const) {
      expect(made).toMatchObject(written)
      const one = `${path}/${made.id}`
      expect((await server.call('PUT', one, { body: { ...written, name: 'B' } })).body).toMatchObject(written)
      const renamed = await server.call('PUT', one, { body: { name: 'C', radsec: { server_key: 'new' } } })
      expect(renamed.body.radsec).toEqual({ server_key: 'new' })
      for (const { body } of [renamed, await server.call('GET', one)])
        expect(JSON.stringify(body)).not.toMatch(/hidden|magic/)
    }
    await server.call('PUT', setting, { body: { api_policy: { no_reveal: false } } })
  })

  it('have audit records with the state before and after each change, and an event', async () => {
    const { id } = await addMxedge(server, { name: 'Told' })
    const first = await lastRecords(server)
    expect(first.audit).toMatchObject({ message: 'Add edge appliance "Told"', after: { name: 'Told' } })
    expect(first.event).toMatchObject({
      type: 'ME_CONFIG_CHANGED_BY_USER',
      mxedge_id: id,
      mxedge_name: 'Told',
      org_id: server.org.orgId,
      audit_id: first.audit.id,
    })
    await server.call('PUT', `${mxedges}/${id}`, { body: { name: 'Retold' } })
    const second = await lastRecords(server)
    expect(second.audit).toMatchObject({
      before: { name: 'Told', mxedge_id: id },
      after: { name: 'Retold', mxedge_id: id },
    })
    const waiting = await server.ctx.db.selectFrom('webhookOutbox').selectAll().orderBy('id', 'desc').execute()
    expect(waiting[0]).toMatchObject({ topic: 'mxedge-events', event: { audit_id: second.audit.id } })
    await server.call('DELETE', `${mxedges}/${id}`)
    expect((await lastRecords(server)).audit).toMatchObject({ before: { name: 'Retold' }, after: null })
    expect((await server.call('GET', `${mxedges}/${id}`)).status).toBe(404)
    expect((await server.call('DELETE', `${mxedges}/${id}`)).status).toBe(404)
  })
})

describe('lists', () => {
  it('have pages, and distinguish appliances of sites from others', async () => {
    const elsewhere = await server.addOrg('Of lists')
    const path = `/orgs/${elsewhere.orgId}/mxedges`
    const ids: string[] = []
    for (const name of ['a', 'b', 'c']) ids.push((await addMxedge(server, { name }, elsewhere)).id)
    const site = await addSite(server, 'There', elsewhere)
    const body = { mxedge_ids: ids.slice(0, 1), site_id: site }
    await server.call('POST', `${path}/assign`, { as: elsewhere, body })
    const names = async (query: string) => {
      const { body, headers } = await server.call('GET', `${path}?${query}`, { as: elsewhere })
      return [headers.get('x-page-total'), ...body.map(({ name }: { name: string }) => name)]
    }
    expect(await names('limit=2')).toEqual(['3', 'a', 'b'])
    expect(await names('limit=2&page=2')).toEqual(['3', 'c'])
    expect(await names('for_site=true')).toEqual(['1', 'a'])
    expect(await names('for_site=False')).toEqual(['2', 'b', 'c'])
    expect(await names('for_site=any')).toEqual(['3', 'a', 'b', 'c'])
    const ofSite = await server.call('GET', `/sites/${site}/mxedges`, { as: elsewhere })
    expect(ofSite.body).toMatchObject([{ id: ids[0], site_id: site, for_site: true }])
  })

  it("are limited to the caller's sites", async () => {
    const there = await addMxedge(server, { name: 'There' })
    const elsewhere = await addMxedge(server, { name: 'Elsewhere' })
    await assign([there.id])
    const as = await addPerson(server, [{ scope: 'site', site_id: siteId, role: 'write' }])
    const list = await server.call('GET', mxedges, { as })
    expect(list.body.map(({ id }: { id: string }) => id)).toContain(there.id)
    expect(list.body.map(({ id }: { id: string }) => id)).not.toContain(elsewhere.id)
    expect((await server.call('GET', `${mxedges}/${elsewhere.id}`, { as })).status).toBe(404)
    expect((await server.call('GET', `${mxedges}/${there.id}`, { as })).status).toBe(200)
    expect((await server.call('PUT', `${mxedges}/${there.id}`, { as, body: { name: 'x' } })).status).toBe(403)
  })
})

describe('appliances of a site', () => {
  it('are read, updated and deleted there, and only there', async () => {
    const { id } = await addMxedge(server)
    const path = `/sites/${siteId}/mxedges/${id}`
    expect((await server.call('GET', path)).status).toBe(404)
    expect((await server.call('PUT', path, { body: { name: 'x' } })).status).toBe(404)
    expect((await server.call('DELETE', path)).status).toBe(404)
    await assign([id])
    const as = await addPerson(server, [{ scope: 'site', site_id: siteId, role: 'write' }])
    expect((await server.call('PUT', path, { as, body: { name: 'Here' } })).body).toMatchObject({ id, name: 'Here' })
    expect((await lastRecords(server)).event).toMatchObject({ site_id: siteId, mxedge_name: 'Here' })
    expect((await server.call('GET', path, { as })).body).toMatchObject({ id, name: 'Here', for_site: true })
    expect((await server.call('DELETE', path, { as })).status).toBe(200)
    expect((await server.call('GET', `${mxedges}/${id}`)).status).toBe(404)
  })
})

describe('clusters', () => {
  it('return a site and monitors of later protocols unchanged', async () => {
    const monitor = { host: '10.2.8.15', protocol: 'icmp', timeout: 300 }
    const body = { name: 'Monitored', site_id: siteId, tunterm_monitoring: [[monitor]] }
    const { id, ...made } = await addCluster(server, body)
    expect(made).toMatchObject({ ...body, for_site: false })
    expect((await server.call('PUT', `${clusters}/${id}`, { body: made })).body).toMatchObject(body)
  })

  it('keep the whole document, each field separately', async () => {
    const body = {
      name: 'Wide',
      radsec: { enabled: true, auth_servers: [{ host: '192.0.2.1', port: 1812, secret: 's', keywrap_kek: 'k' }] },
      tunterm_hosts: ['b', 'a'],
      later: { than: 1 },
    }
    const made = await addCluster(server, body)
    expect(made).toMatchObject({ ...body, org_id: server.org.orgId, for_site: false })
    const path = `${clusters}/${made.id}`
    const changed = await server.call('PUT', path, { body: { '-later': '', tunterm_hosts_selection: 'ordered' } })
    expect(changed.body).toMatchObject({ radsec: body.radsec, tunterm_hosts: ['b', 'a'] })
    expect(changed.body).not.toHaveProperty('later')
    expect((await server.call('GET', path)).body).toEqual(changed.body)
    const { headers, body: list } = await server.call('GET', clusters)
    expect(Number(headers.get('x-page-total'))).toBe(list.length)
    expect(list).toContainEqual(changed.body)
  })

  it('show secrets only to callers who may write, and never in the audit log', async () => {
    const server1 = { host: '192.0.2.1', secret: 'shhh1', keywrap_kek: 'shhh2', keywrap_mack: 'shhh3' }
    const body = {
      radsec: { auth_servers: [server1] },
      radsec_tls: { keypair: 'shhh4' },
      mist_nac: { secret: 'shhh5' },
    }
    const { id } = await addCluster(server, body)
    const as = await addPerson(server, [{ scope: 'org', role: 'read' }])
    const shown = await server.call('GET', `${clusters}/${id}`, { as })
    expect(shown.body).toMatchObject({ radsec: { auth_servers: [{ host: '192.0.2.1' }] } })
    expect(JSON.stringify([shown.body, (await lastRecords(server)).audit])).not.toContain('shhh')
  })

  it.each([
    [{ name: 1 }, 'name'],
    [{ radsec: { nas_ip_source: 'x' } }, 'radsec'],
    [{ tunterm_hosts_order: ['a'] }, 'tunterm_hosts_order'],
  ])('refuse %j with the name of the field', async (body, field) => {
    const refused = await server.call('POST', clusters, { body })
    expect(refused.status).toBe(400)
    expect(refused.body.detail).toContain(field)
  })

  it("can't be deleted while they contain an appliance", async () => {
    const cluster = await addCluster(server)
    const mxedge = await addMxedge(server, { mxcluster_id: cluster.id })
    expect(mxedge.mxcluster_id).toBe(cluster.id)
    const path = `${clusters}/${cluster.id}`
    expect(await server.call('DELETE', path)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('in use') },
    })
    const put = (body: object) => server.call('PUT', `${mxedges}/${mxedge.id}`, { body })
    expect((await put({ '-mxcluster_id': '' })).body).not.toHaveProperty('mxcluster_id')
    await put({ mxcluster_id: cluster.id })
    expect((await put({ mxcluster_id: null })).body).not.toHaveProperty('mxcluster_id')
    expect((await server.call('DELETE', path)).status).toBe(200)
    expect((await server.call('GET', path)).status).toBe(404)
    expect((await server.call('DELETE', path)).status).toBe(404)
  })

  it('of another organization are not found', async () => {
    const stranger = await server.addOrg('Stranger')
    const theirs = await addCluster(server, {}, stranger)
    const { id } = await addMxedge(server)
    const refused = await server.call('PUT', `${mxedges}/${id}`, { body: { mxcluster_id: theirs.id } })
    expect(refused).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field mxcluster_id: ') },
    })
  })
})
