import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Operation, fetchOpenApi, operationsOf } from '../../support/contract/openapi.ts'
import { type Answer, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { type LargeRows, ROWS, makeLargeRows } from './large-rows.ts'

/** Every list answers megabytes, several times. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const MIB = 1024 * 1024
/** The estimate allows one kilobyte per row for what the presentation adds to documents. */
const MAX_ANSWER_BYTES = 4.2 * MIB

/** Lists whose rows are small, because each field that clients write has a limit. */
const SMALL: Readonly<Record<string, string>> = {
  listApiTokens: 'names of 200 characters; a token of a person has no privileges of its own',
  searchOrgSites: 'names of 200 characters, and flags',
  getOrgInventory: 'no documents of devices',
  searchOrgInventory: 'no documents of devices',
  searchOrgDevices: 'no documents of devices; texts of neighbors have 255 bytes',
  searchSiteDevices: 'no documents of devices; texts of neighbors have 255 bytes',
  listSiteWirelessClientsStats: 'names of 64 characters, and numbers',
  listOrgApsMacs: 'at most 256 addresses of radio networks',
  listOrgMxEdgeUpgrades: 'without ids of appliances and without notes',
  listSiteMxEdgeUpgrades: 'without ids of appliances and without notes',
  listSiteUpgrades: 'as listOrgUpgrades',
  listOrgUpgrades: 'versions of 200 characters, and counts; a reason has 500 characters',
  listOrgDeviceUpgradeTargets: 'versions of 200 characters; a reason has 500 characters',
  listOrgSsrUpgradeTargets: 'versions of 200 characters; a reason has 500 characters',
  listSiteDeviceUpgradeTargets: 'as listOrgDeviceUpgradeTargets',
  listSiteSsrUpgradeTargets: 'as listOrgSsrUpgradeTargets',
  listOrgMxEdgeUpgradeTargets: 'at most five steps; a version has 100 characters, a reason of an agent 500',
  listSiteMxEdgeUpgradeTargets: 'at most five steps; a version has 100 characters, a reason of an agent 500',
  listSiteDeviceCommands: 'without the output of commands; a reason has 500 characters',
  listSiteDeviceSupportFiles: 'ids and addresses',
  listOrgMxEdgeSupportFiles: 'ids and addresses',
  listSiteMxEdgeSupportFiles: 'ids and addresses',
  searchOrgEvents: 'texts of 500 characters',
  searchOrgAlarms: 'texts of 500 characters',
  searchSiteAlarms: 'texts of 500 characters',
  searchOrgSystemEvents: 'texts of 500 characters',
  searchSiteSystemEvents: 'texts of 500 characters',
  listOrgSsrUpgrades: 'a version for each model, counts, and why it waits',
  listOrgMxEdgeCommands: 'parameters of at most 200 addresses; a reason has 500 characters',
  listInstallerSiteGroups: 'ids and names',
  listOrgWebhookParkedMessages: 'ids, a topic and numbers; bodies are not listed',
  listSiteWebhookParkedMessages: 'ids, a topic and numbers; bodies are not listed',
  searchOrgDeviceLastConfigs: 'empty',
  searchSiteDeviceLastConfigs: 'empty',
  searchSiteDeviceConfigHistory: 'empty',
  listInstallerAlarmTemplates: 'empty',
  listInstallerDeviceProfiles: 'empty',
  listInstallerRfTemplatesNames: 'empty',
}

let server: TestServer
let lists: Operation[]
let large: LargeRows
beforeAll(async () => {
  server = await startTestServer()
  const operations = operationsOf(await fetchOpenApi(server))
  lists = operations.filter(
    ({ method, path, spec }) =>
      // The pages of counts have values, and no rows.
      method === 'GET' && !path.endsWith('/count') && spec.parameters?.some(({ name }) => name === 'page') === true,
  )
  large = await makeLargeRows(server)
})
afterAll(() => server.close())

const ids = [
  'listSelfAuditLogs listOrgSsos listOrgSsoLatestFailures listOrgSsoRoles listOrgApiTokens listOrgAdmins',
  'listOrgAdminInvites listOrgSites listOrgAuditLogs searchOrgAuditLogs listOrgSiteGroups listSiteDevices',
  'searchOrgDeviceEvents searchSiteDeviceEvents listOrgDevicesStats listSiteDevicesStats listOrgFirmware',
  'listSiteMaps listSiteMapStacks listInstallerMaps listInstallerListOfRecentlyClaimedDevices listInstallerSites',
  'listOrgMxEdgeClusters listOrgMxEdges searchOrgMxEdges searchOrgMistEdgeEvents listOrgMxEdgesStats',
  'listSiteMxEdges searchSiteMistEdgeEvents listSiteMxEdgesStats listOrgDeviceUpgrades listOrgWebhooks',
  'listSiteDeviceUpgrades listOrgSiteStats',
  'searchOrgWebhooksDeliveries listSiteWebhooks searchSiteWebhooksDeliveries',
].flatMap((line) => line.split(' '))

function pathOf({ path }: Operation): string {
  const webhook = path.includes('/sites/') ? 'siteHook' : 'orgHook'
  return path
    .replace('/api/v1', '')
    .replace('{webhook_id}', large.ids[webhook] ?? '')
    .replace(/\{(\w+)\}/g, (_, name: string) => large.ids[name] ?? '')
}

interface Page extends Answer {
  /** As texts, which are compared faster than thousands of privileges. */
  readonly rows: readonly string[]
}

/** The pages of the test that runs: many links have the address that a client makes of the limit and the page. */
const pages = new Map<string, Promise<Page>>()
afterEach(() => pages.clear())

/** Reads each address once. */
function read(path: string): Promise<Page> {
  const page = pages.get(path) ?? readPage(path)
  pages.set(path, page)
  return page
}

async function readPage(path: string): Promise<Page> {
  const answer = await server.call('GET', path)
  expect(answer.status).toBe(200)
  const bytes = Number(answer.headers.get('content-length'))
  expect(bytes).toBeGreaterThan(0)
  expect(bytes).toBeLessThan(MAX_ANSWER_BYTES)
  const { body } = answer
  const rows: unknown[] = Array.isArray(body) ? body : body.results
  return { ...answer, rows: rows.map((row) => JSON.stringify(row)) }
}

interface Paging {
  readonly limit: number
  readonly total: number
}

/** Reads the paging values where clients find them: in headers, or in the body of a search. */
function pagingOf({ headers, body }: Answer): Paging {
  const header = (name: string) => headers.get(`x-page-${name}`)
  return { limit: Number(header('limit') ?? body.limit), total: Number(header('total') ?? body.total) }
}

/** Reads the rows from the first page on, like a client that requests page after page with the limit of `limitFor`. */
async function readByNumbers(path: string, first: Page, limitFor: (last: Paging) => number): Promise<string[]> {
  const rows = [...first.rows]
  let last = pagingOf(first)
  for (let page = 2; last.limit * (page - 1) < last.total; page += 1) {
    const answer = await read(`${path}?limit=${limitFor(last)}&page=${page}`)
    rows.push(...answer.rows)
    last = pagingOf(answer)
  }
  return rows
}

/** Like readByNumbers(), but follows the links of the answers. */
async function readByLinks(first: Page): Promise<string[]> {
  const rows = [...first.rows]
  for (let next = nextOf(first); next !== undefined;) {
    const answer = await read(next)
    rows.push(...answer.rows)
    next = nextOf(answer)
  }
  return rows
}

function nextOf({ headers, body }: Answer): string | undefined {
  const [, linked] = /^<\/api\/v1([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '') ?? []
  return linked ?? body.next?.replace('/api/v1', '')
}

/** Expects every row exactly once: each row has a text that no other row has. */
function expectUnique(rows: readonly string[]): void {
  expect(new Set(rows).size).toBe(rows.length)
  expect(rows.length).toBeGreaterThanOrEqual(ROWS)
}

it('lists for every operation whether its rows can be large', () => {
  expect([...ids, ...Object.keys(SMALL)].toSorted()).toEqual(lists.map(({ id }) => id).toSorted())
})

it.each(['searchOrgDevices', 'searchSiteDevices', 'listOrgApsMacs'])(
  '%s has rows of which as many as a page may have fit, however much devices report',
  async (id) => {
    const operation = lists.find((list) => list.id === id)
    if (operation === undefined) throw new Error(`no operation ${id}`)
    const { rows } = await read(`${pathOf(operation)}?limit=1000`)
    expect(rows).toHaveLength(ROWS)
    for (const row of rows) expect(Buffer.byteLength(row)).toBeLessThan((4 * MIB) / 1000)
  },
)

describe.each(ids)('%s', (id) => {
  it('ends at 4 MiB, and every client finds each row once', async () => {
    const operation = lists.find((list) => list.id === id)
    if (operation === undefined) throw new Error(`no operation ${id}`)
    const path = pathOf(operation)
    const first = await read(`${path}?limit=1000`)
    expect(pagingOf(first).limit).toBeLessThan(ROWS)
    const byLinks = await readByLinks(first)
    expectUnique(byLinks)
    // The published Python client sends the limit of its caller, the provider for Terraform that of the answer.
    expect(await readByNumbers(path, first, () => 1000)).toEqual(byLinks)
    expect(await readByNumbers(path, first, ({ limit }) => limit)).toEqual(byLinks)
  })
})
