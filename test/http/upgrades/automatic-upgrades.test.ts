import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let site: string
beforeAll(async () => {
  server = await startTestServer()
  const created = await server.call('POST', `/orgs/${server.org.orgId}/sites`, {
    body: { name: 'Berlin', timezone: 'Europe/Berlin' },
  })
  site = `/sites/${created.body.id}`
})
afterAll(() => server.close())

it('shows the next automatic upgrade of the examples of the manual', async () => {
  expect((await server.call('GET', `${site}/auto_upgrade`)).body).toEqual({ enabled: false })
  const manual = readFileSync(new URL('../../../docs/upgrades.md', import.meta.url), 'utf8')
  const examples = [...manual.matchAll(/automatic-upgrades\.test\.ts writes it -->\n```json\n(.*?)```/gs)]
  expect(examples).toHaveLength(2)
  for (const [, example = ''] of examples) {
    const body = JSON.parse(example)
    const answer = await server.call('PUT', `${site}/setting`, { body })
    expect(answer).toMatchObject({ status: 200, body })
  }
  const { body } = await server.call('GET', `${site}/auto_upgrade`)
  expect(body).toEqual({ enabled: true, next_time: expect.any(Number) })
  const local = new Intl.DateTimeFormat('en-GB', {
    timeZone: 'Europe/Berlin',
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
  })
  expect(local.format(new Date(body.next_time * 1000))).toBe('Sun 03:00')
})

it('takes an empty day, which clients write for every day', async () => {
  const rule = {
    enabled: true,
    version: 'custom',
    custom_versions: { AP45: '2.0.0' },
    day_of_week: '',
    time_of_day: '02:00',
  }
  const answer = await server.call('PUT', `${site}/setting`, { body: { auto_upgrade: rule } })
  expect(answer).toMatchObject({ status: 200, body: { auto_upgrade: rule } })
  const { body } = await server.call('GET', `${site}/auto_upgrade`)
  expect(body).toEqual({ enabled: true, next_time: expect.any(Number) })
  expect(body.next_time - Date.now() / 1000).toBeLessThanOrEqual(25 * 3600)
})

it.each([
  ['time_of_day', '3 am', 'must be a time of day such as 02:30, or any'],
  ['day_of_week', 'sunday', 'any, mon, tue, wed, thu, fri, sat, sun'],
  ['version', 'newest', 'beta, custom, stable'],
  ['custom_versions', { AP45: 2 }, 'AP45'],
  ['enabled', 'yes', 'boolean'],
])('refuses a wrong %s', async (field, value, expected) => {
  for (const place of [site, `/orgs/${server.org.orgId}`]) {
    const { status, body } = await server.call('PUT', `${place}/setting`, {
      body: { auto_upgrade: { [field]: value } },
    })
    expect(status).toBe(400)
    expect(body.detail).toContain(`auto_upgrade.${field}`)
    expect(body.detail).toContain(expected)
  }
})

it.each([
  ['switch', 'enabled', 'yes', 'boolean'],
  ['juniper_srx', 'custom_versions', ['SRX345'], 'object'],
  ['ssr', 'channel', 'newest', 'alpha, beta, stable'],
])('refuses wrong upgrades of new devices in %s', async (setting, field, value, expected) => {
  const body = { [setting]: { auto_upgrade: { [field]: value } } }
  const answer = await server.call('PUT', `${site}/setting`, { body })
  expect(answer.status).toBe(400)
  expect(answer.body.detail).toContain(`${setting}.auto_upgrade.${field}`)
  expect(answer.body.detail).toContain(expected)
})
