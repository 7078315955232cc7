import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const get = async (path: string) => {
  const { status, body } = await server.call('GET', `/const/${path}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

describe('constants', () => {
  it('list countries, their states, and languages', async () => {
    const countries = await get('countries?extend=True')
    expect(countries).toHaveLength(249)
    expect(countries).toContainEqual({ alpha2: 'CH', name: 'Switzerland', numeric: 756, certified: false })
    expect(await get('states?country_code=us')).toContainEqual({ iso_code: 'US-CA', name: 'California' })
    expect(await get('states?country_code=AQ')).toEqual([])
    const refused = await server.call('GET', '/const/states?country_code=XX')
    expect(refused).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field country_code: ') },
    })
    expect((await server.call('GET', '/const/states')).status).toBe(400)
    expect(await get('languages')).toContainEqual({ key: 'de', display: 'German', display_native: 'Deutsch' })
  })

  it('list models by type', async () => {
    const models = await get('device_models')
    expect(models).toContainEqual({ model: 'AP45', display: 'AP45', type: 'ap', ap_type: 'AP45' })
    expect(models).toContainEqual({ model: 'EX4100-48P', display: 'EX4100-48P', type: 'switch' })
    expect(await get('mxedge_models')).toContainEqual({ model: 'ME-VM', display: 'Edge VM', custom_ports: true })
  })

  it('list the events that Signalbox has, and no others', async () => {
    const devices = await get('device_events')
    expect(devices).toContainEqual({ key: 'SW_UPGRADE_FAILED', display: 'Switch upgrade failed' })
    expect(devices.map(({ key }: { key: string }) => key)).not.toContain('AP_CONFIGURED')
    expect((await get('mxedge_events')).map(({ key }: { key: string }) => key)).toEqual(['ME_CONFIG_CHANGED_BY_USER'])
    expect(await get('alarm_defs')).toEqual([])
    const topics = await get('webhook_topics')
    const topic = topics.find(({ key }: { key: string }) => key === 'mxedge-events')
    expect(topic).toMatchObject({ for_org: true, has_delivery_results: true, allows_single_event_per_message: true })
  })

  it.each(['client_events', 'nac_events', 'otherdevice_models', 'otherdevice_events', 'default_gateway_config'])(
    'are not found if Signalbox does not support them: %s',
    async (path) => expect((await server.call('GET', `/const/${path}`)).status).toBe(404),
  )

  it('require credentials', async () => {
    expect((await server.call('GET', '/const/countries', { as: null })).status).toBe(401)
  })
})
