import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { Fleet, SeededOrg, SiteSeed } from '../../support/fleets/fleet.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { addFleet } from './served-fleet.ts'

export const seeds: readonly SiteSeed[] = [
  { devices: 3, name: 'Berlin', timezone: 'Europe/Berlin' },
  { devices: 2, name: 'Tokyo', timezone: 'Asia/Tokyo', model: 'SW24', type: 'switch' },
]

interface Target {
  readonly mac: string
  readonly phase: number
}

/** Starts a server, and for each test an organization with connected devices. Call it at the top of a test file. */
export function createUpgradesHarness() {
  let server: TestServer
  let admin: TestOrg
  let org: SeededOrg
  let path: string
  beforeAll(async () => {
    server = await startTestServer()
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    let fleet: Fleet
    ;({ admin, org, fleet } = await addFleet(server, seeds))
    await fleet.connect(org.sites.flatMap((site) => site.devices))
    path = `/orgs/${admin.orgId}/devices/upgrade`
  })

  const post = (body?: unknown): Promise<Answer> => server.call('POST', path, { body, as: admin })
  const get = (suffix = ''): Promise<Answer> => server.call('GET', path + suffix, { as: admin })
  /** Changes an upgrade by a POST below its path. */
  const call = (id: string, suffix: string, body: unknown = {}): Promise<Answer> =>
    server.call('POST', `${path}/${id}/${suffix}`, { body, as: admin })
  const macsOf = (site: number): string[] => org.sites[site]?.devices.map(({ mac }) => mac) ?? []
  const siteId = (site: number): string => org.sites[site]?.id ?? ''

  function targets(): Promise<Target[]> {
    const query = server.ctx.db.selectFrom('upgradeTarget').select(['mac', 'phase']).where('orgId', '=', admin.orgId)
    return query.orderBy('ordinal').execute()
  }

  async function siteUpgrades() {
    return server.ctx.db
      .selectFrom('siteUpgrade')
      .select(['siteId', 'startAt', 'rebootAt', 'plan'])
      .where('orgId', '=', admin.orgId)
      .orderBy('id')
      .execute()
  }

  async function rowsLeft(): Promise<number> {
    const tables = ['orgUpgrade', 'siteUpgrade', 'upgradeTarget', 'deviceCommand'] as const
    const counts = tables.map(async (table) => {
      const { count } = await server.ctx.db
        .selectFrom(table)
        .select(({ fn }) => fn.countAll<string>().as('count'))
        .where('orgId', '=', admin.orgId)
        .executeTakeFirstOrThrow()
      return Number(count)
    })
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  }

  return {
    get server() {
      return server
    },
    get admin() {
      return admin
    },
    get path() {
      return path
    },
    post,
    get,
    call,
    macsOf,
    siteId,
    targets,
    siteUpgrades,
    rowsLeft,
  }
}
