import { randomUUID } from 'node:crypto'
import { addSite, claimNewDevice } from '../support/fleets/devices.ts'
import { addCluster, addMxedge } from '../support/fleets/mxedges.ts'
import { addPerson } from '../support/people.ts'
import type { TestOrg, TestServer } from '../support/servers/server.ts'
import { serviceAccount } from '../support/servers/service-account.ts'

/** A kind of objects that clients write and read. */
export interface Kind {
  /** The name in messages and in the table of refusals. */
  readonly name: string
  /** The contract's schema of it. */
  readonly schema: string
  /** The path at which objects are created; null if the object exists. */
  readonly list: string | null
  /** The path of the object; by default its id in the list. */
  readonly path?: (id: string) => string
  /** The list that contains it, if it can't be read by itself. */
  readonly readIn?: string
  /** The fields of every write, such as a required name. */
  readonly base?: Readonly<Record<string, unknown>>
  readonly known?: Readonly<Record<string, unknown>>
  readonly beside?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Members that the service adds to objects that are sent. */
  readonly adds?: readonly string[]
  /** Further fields of a new object. */
  readonly proof?: object
  /** Fields that no two objects may share. */
  readonly fresh?: () => Readonly<Record<string, unknown>>
  /** The caller of writes; by default the server's administrator. */
  readonly as?: TestOrg
  /** False if its objects have only fields that can't be unset. */
  readonly canUnset?: boolean
  /** False if clients can only create it. */
  readonly isUpdated?: boolean
  readonly share?: { readonly index: number; readonly of: number }
}

interface Ids {
  readonly org: string
  readonly site: string
  readonly mapId: string
  readonly groupId: string
}

/** Lists the kinds, with the objects that they need in the server's organization. */
export async function kindsOf(server: TestServer): Promise<Kind[]> {
  const org = server.org.orgId
  const site = await addSite(server)
  const created = async (path: string): Promise<string> =>
    (await server.call('POST', path, { body: { name: 'Base' } })).body.id
  const ids = {
    org,
    site,
    mapId: await created(`/sites/${site}/maps`),
    groupId: await created(`/orgs/${org}/sitegroups`),
  }
  const [admin, other] = [await addPerson(server, [{ scope: 'org', role: 'read' }]), await server.addOrg('Other')]
  return [
    ...placeKinds(ids),
    ...(await orgSettingKinds(server)),
    ...(await siteSettingKinds(server)),
    ...webhookKinds(ids),
    ...(await edgeKinds(server, ids)),
    ...accountKinds(ids, { admin, other }),
    ...ssoKinds(ids),
    ...(await deviceKinds(server, ids)),
  ]
}

const named = { name: 'Base' }

function placeKinds({ org, site, mapId, groupId }: Ids): Kind[] {
  const maps = `/installer/orgs/${org}/sites/Here/maps`
  return [
    { name: 'organization', schema: 'org', list: '/orgs', path: (id) => `/orgs/${id}`, base: named },
    {
      name: 'site',
      schema: 'site',
      list: `/orgs/${org}/sites`,
      path: (id) => `/sites/${id}`,
      base: named,
      known: { country_code: 'DE', timezone: 'Europe/Berlin', sitegroup_ids: [groupId] },
    },
    {
      name: 'site group',
      schema: 'sitegroup',
      list: `/orgs/${org}/sitegroups`,
      base: named,
      known: { site_ids: [site] },
    },
    {
      ...{ name: 'map stack', schema: 'createSiteMapStack', list: `/sites/${site}/mapstacks` },
      ...{ readIn: `/sites/${site}/mapstacks`, canUnset: false, isUpdated: false },
    },
    { name: 'map', schema: 'map', adds: ['id'], list: `/sites/${site}/maps`, base: named },
    {
      name: 'map of an installer',
      schema: 'map',
      adds: ['id'],
      list: null,
      path: () => `${maps}/${mapId}`,
      readIn: maps,
    },
  ]
}

/**
 * In a separate organization, because they decide whether answers show secrets, and with a token of the organization,
 * which no policy for people locks out.
 */
async function orgSettingKinds(server: TestServer): Promise<Kind[]> {
  const person = await server.addOrg('Alone')
  const body = { name: 'Settings', privileges: [{ scope: 'org', role: 'admin' }] }
  const made = await server.call('POST', `/orgs/${person.orgId}/apitokens`, { as: person, body })
  const as = { ...person, token: made.body.key }
  const path = () => `/orgs/${as.orgId}/setting`
  return [{ name: 'settings of an organization', schema: 'org_setting', list: null, path, as }]
}

/** The settings of a site have most properties. Several sites share them, so that the writes run side by side. */
function siteSettingKinds(server: TestServer): Promise<Kind[]> {
  const of = 4
  return Promise.all(
    Array.from({ length: of }, async (_, index): Promise<Kind> => {
      const site = await addSite(server, `Site ${index}`)
      const path = () => `/sites/${site}/setting`
      return { name: 'settings of a site', schema: 'site_setting', list: null, path, share: { index, of } }
    }),
  )
}

function webhookKinds({ org, site }: Ids): Kind[] {
  // The type google-pubsub takes addresses of this form only.
  const address = 'http://127.0.0.1:9/v1/projects/p/topics/t:publish'
  const kind = {
    schema: 'webhook',
    base: { ...named, url: address },
    known: { url: 'http://127.0.0.1:9/other', topics: ['audits'] },
    beside: {
      type: {
        splunk_token: 'token',
        oauth2_token_url: 'http://127.0.0.1:9/token',
        oauth2_client_id: 'client',
        oauth2_client_secret: 'secret',
        aws_topic_arn: 'arn:aws:sns:eu-west-1:123456789012:events',
        aws_access_key_id: 'AKIAIOSFODNN7EXAMPLE',
        aws_secret_access_key: 'secret',
        google_service_account: JSON.stringify(serviceAccount('http://127.0.0.1:9/token').file),
      },
    },
  }
  return [
    { ...kind, name: 'webhook of an organization', list: `/orgs/${org}/webhooks` },
    { ...kind, name: 'webhook of a site', list: `/sites/${site}/webhooks` },
  ]
}

async function edgeKinds(server: TestServer, { org, site }: Ids): Promise<Kind[]> {
  const cluster = await addCluster(server)
  const edge = await addMxedge(server)
  await server.call('POST', `/orgs/${org}/mxedges/assign`, { body: { site_id: site, mxedge_ids: [edge.id] } })
  const known = { mxcluster_id: cluster.id, site_id: site, model: 'ME-VM' }
  const base = { ...named, model: 'ME-VM' }
  const path = () => `/sites/${site}/mxedges/${edge.id}`
  return [
    { name: 'edge appliance', schema: 'mxedge', list: `/orgs/${org}/mxedges`, base, known },
    { name: 'edge appliance of a site', schema: 'mxedge', list: null, path, base, known },
    { name: 'edge cluster', schema: 'mxcluster', list: `/orgs/${org}/mxclusters`, base: named, known },
  ]
}

/** Returns typical privileges, and the members that they require. */
function privilegesIn({ org, site, groupId }: Ids) {
  return {
    base: { privileges: [{ scope: 'org', role: 'read' }] },
    known: {
      privileges: [{ scope: 'site', role: 'write', site_id: site }],
      ...{ role: 'read', org_id: org, site_id: site, sitegroup_id: groupId, sitegroup_ids: [groupId] },
    },
    beside: {
      org_id: { scope: 'org' },
      role: { scope: 'org' },
      views: { scope: 'org' },
      site_id: { scope: 'site' },
      sitegroup_id: { scope: 'sitegroup' },
      sitegroup_ids: { scope: 'sitegroup' },
      msp_id: { scope: 'org' },
      orggroup_ids: { scope: 'org' },
    },
    adds: ['org_id', 'org_name', 'name', 'orggroup_ids'],
  }
}

function accountKinds(ids: Ids, { admin, other }: { readonly admin: TestOrg; readonly other: TestOrg }): Kind[] {
  const { org } = ids
  const privileges = { ...privilegesIn(ids), canUnset: false }
  const proof = { password: 'correct horse battery' }
  return [
    {
      ...privileges,
      name: 'API token of an organization',
      schema: 'org_apitoken',
      list: `/orgs/${org}/apitokens`,
      base: { ...named, ...privileges.base },
      known: { ...privileges.known, src_ips: ['192.0.2.0/24'] },
      proof,
    },
    { name: 'own API token', schema: 'user_apitoken', list: '/self/apitokens', base: named, canUnset: false, proof },
    {
      ...privileges,
      name: 'admin',
      schema: 'admin',
      list: null,
      path: () => `/orgs/${org}/admins/${admin.adminId}`,
      readIn: `/orgs/${org}/admins`,
    },
    {
      ...privileges,
      name: 'invitation',
      schema: 'admin',
      list: `/orgs/${org}/invites`,
      readIn: `/orgs/${org}/invites`,
      base: { ...privileges.base, email: 'invited@example.test', hours: 3 },
      // An address has one invitation.
      fresh: () => ({ email: `${randomUUID()}@example.test` }),
    },
    { ...privileges, name: 'own account', schema: 'admin', list: null, path: () => '/self', base: {}, as: other },
  ]
}

function ssoKinds(ids: Ids): Kind[] {
  const { org } = ids
  const privileges = privilegesIn(ids)
  const address = 'https://idp.example.test/'
  return [
    {
      name: 'SSO',
      schema: 'sso',
      list: `/orgs/${org}/ssos`,
      base: named,
      known: { custom_logout_url: address, idp_sso_url: address },
    },
    {
      ...privileges,
      canUnset: false,
      name: 'SSO role',
      schema: 'sso_role_org',
      list: `/orgs/${org}/ssoroles`,
      base: { ...named, ...privileges.base },
      fresh: () => ({ name: randomUUID() }),
    },
  ]
}

async function deviceKinds(server: TestServer, { site, mapId }: Ids): Promise<Kind[]> {
  const models = { ap: 'AP45', switch: 'EX4100-48P', gateway: 'SRX300' } as const
  return Promise.all(
    (['ap', 'switch', 'gateway'] as const).map(async (type): Promise<Kind> => {
      const device = await claimNewDevice(server, { siteId: site, type, model: models[type] })
      const path = () => `/sites/${site}/devices/${device.id}`
      return { name: type, schema: `device_${type}`, list: null, path, known: { map_id: mapId } }
    }),
  )
}
