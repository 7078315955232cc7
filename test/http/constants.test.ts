import { Check } from 'typebox/value'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { topics } from '../../src/events/topics.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'

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
    const edges = await get('mxedge_models')
    expect(edges).toContainEqual({ model: 'ME-VM', display: 'Edge VM', custom_ports: true, ports: {} })
    expect(edges).toContainEqual({ model: 'ME-X5', display: 'Edge X5', custom_ports: false })
  })

  it('list the events that Signalbox has, and no others', async () => {
    const devices = await get('device_events')
    expect(devices).toContainEqual({
      key: 'SW_UPGRADE_FAILED',
      display: 'Switch upgrade failed',
      description: expect.stringContaining('upgrade'),
      example: expect.objectContaining({ type: 'SW_UPGRADE_FAILED', device_type: 'switch', ev_type: 'warn' }),
    })
    for (const { key, example } of devices) {
      expect(Check(topics['device-events'].event, example), key).toBe(true)
      expect(Object.hasOwn(example, 'ap'), key).toBe(key.startsWith('AP_'))
    }
    expect(devices.map(({ key }: { key: string }) => key)).not.toContain('AP_CONFIGURED')
    const edges = await get('mxedge_events')
    expect(edges[0]).toMatchObject({ key: 'ME_CONFIG_CHANGED_BY_USER', description: expect.any(String) })
    const severities = new Map<string, string>()
    for (const { key, example } of edges) {
      expect(Check(topics['mxedge-events'].event, example), key).toBe(true)
      severities.set(key, example.severity)
    }
    expect(severities.get('ME_SERVICE_RESTARTED')).toBe('info')
    expect(severities.get('ME_SERVICE_STOPPED')).toBe('warn')
    expect(severities.get('ME_SERVICE_FAILED')).toBe('critical')
    const all = await get('webhook_topics')
    const topic = all.find(({ key }: { key: string }) => key === 'mxedge-events')
    expect(topic).toMatchObject({ for_org: true, has_delivery_results: true, internal: false })
    expect(topic.allows_single_event_per_message).toBe(true)
  })

  it.each(['client_events', 'nac_events', 'otherdevice_models', 'otherdevice_events'])(
    'are empty lists for things that Signalbox does not have: %s',
    async (path) => expect(await get(path)).toEqual([]),
  )

  it('give gateways no default configuration, and refuse other models', async () => {
    expect(await get('default_gateway_config?model=SRX320&ha=true')).toEqual({})
    const refused = await server.call('GET', '/const/default_gateway_config?model=AP45')
    expect(refused).toMatchObject({ status: 400, body: { detail: expect.stringContaining('Invalid field model: ') } })
    expect((await server.call('GET', '/const/default_gateway_config')).status).toBe(400)
    expect((await server.call('GET', '/const/default_gateway_config?model=SRX320&ha=maybe')).status).toBe(400)
  })

  it('require credentials', async () => {
    expect((await server.call('GET', '/const/countries', { as: null })).status).toBe(401)
  })
})
