import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type MadeDevice, addSite, claimNewDevice, claimNewDevices } from '../../../support/fleets/devices.ts'
import { encodeForm } from '../../../support/contract/forms.ts'
import { type Answer, type TestServer, startTestServer } from '../../../support/servers/server.ts'

let server: TestServer
let siteId: string
let mapId: string
let devices: readonly MadeDevice[]
let path: string
beforeAll(async () => {
  server = await startTestServer()
})
beforeEach(async () => {
  siteId = await addSite(server)
  mapId = (await server.call('POST', `/sites/${siteId}/maps`, { body: { name: 'Floor', type: 'image' } })).body.id
  devices = await claimNewDevices(server, 3, { siteId })
  path = `/sites/${siteId}/devices`
})
afterAll(() => server.close())

const exported = async (): Promise<string> => (await server.call('GET', `${path}/export`)).body
const importJson = (body: unknown) => server.call('POST', `${path}/import`, { body })

async function importCsv(csv: string | Uint8Array): Promise<Answer> {
  const bytes = typeof csv === 'string' ? Buffer.from(csv) : csv
  const form = await encodeForm({ file: { name: 'devices.csv', type: 'text/csv', bytes } })
  return server.call('POST', `${path}/import`, form)
}

async function documents() {
  const { body } = await server.call('GET', `${path}?limit=1000`)
  return body
}

async function audits() {
  const { db } = server.ctx
  return db.selectFrom('auditLog').selectAll().where('siteId', '=', siteId).orderBy('id').execute()
}

/** Returns the first device of the site, by test name. */
function first(): MadeDevice {
  const [device] = devices
  if (device === undefined) throw new Error('no device')
  return device
}

const refusal = (error: unknown[], reason: unknown[]) => ({
  status: 400,
  body: { detail: expect.stringContaining('No device was changed'), error, reason },
})

describe('the table of the devices of a site', () => {
  it('is exported, changes nothing when it is imported unchanged, and imports its edited fields', async () => {
    const place = { map_id: mapId, x: 1.25, y: 20, height: 2.7, orientation: 90, role: 'a, "b"', notes: 'two\nlines' }
    await server.call('PUT', `${path}/${first().id}`, { body: { name: ' Lobby', ...place, led: { enabled: true } } })
    const answer = await server.call('GET', `${path}/export`)
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(answer.headers.get('content-disposition')).toContain('devices.csv')
    const csv = await exported()
    expect(csv.split('\r\n')).toHaveLength(5)
    expect(csv).toContain(
      `${first().mac},${first().serial},AP45,ap," Lobby",${mapId},1.25,20,2.7,90,"a, ""b""","two\nlines"`,
    )
    const [before, told] = [await documents(), await audits()]
    expect(await importCsv(csv)).toMatchObject({ status: 200, body: before })
    expect(await documents()).toEqual(before)
    expect(await audits()).toEqual(told)

    expect((await importCsv(csv.replace('," Lobby",', ',Hall,').replace('1.25', '3'))).status).toBe(200)
    const after = (await documents()).find(({ mac }: { mac: string }) => mac === first().mac)
    expect(after).toMatchObject({ name: 'Hall', ...place, x: 3, led: { enabled: true } })
    const [record, ...more] = (await audits()).slice(told.length)
    expect(more).toEqual([])
    expect(record).toMatchObject({
      message: `Import device ${first().mac}`,
      before: { devices: [{ mac: first().mac, name: ' Lobby', x: 1.25 }] },
      after: { devices: [{ mac: first().mac, name: 'Hall', x: 3 }] },
    })
  })

  it('contains only its headings if there are no devices', async () => {
    const empty = await addSite(server)
    const { body } = await server.call('GET', `/sites/${empty}/devices/export`)
    expect(body).toBe('mac,serial,model,type,name,map_id,x,y,height,orientation,role,notes\r\n')
    expect((await server.call('POST', `/sites/${empty}/devices/import`, await form(body))).body).toEqual([])
  })

  const form = (csv: string) => encodeForm({ file: { name: 'devices.csv', type: 'text/csv', bytes: Buffer.from(csv) } })

  it('reports every error with its line and column, and changes nothing', async () => {
    const elsewhere = await addSite(server)
    const stranger = await claimNewDevice(server, { siteId: elsewhere })
    const before = await documents()
    const [one, two, three] = devices.map(({ mac }) => mac)
    const typed = await importCsv(
      ['mac,name,x,orientation,map_id', `${one},A,left,,`, 'nonsense,B,,,', `${two},C,,360,`, `${three},D,,,here`].join(
        '\n',
      ),
    )
    expect(typed).toMatchObject(
      refusal(
        [one, 'nonsense', two, three],
        [
          expect.stringMatching(/^line 2, x: /),
          'line 3, mac: is not a MAC address',
          expect.stringMatching(/^line 4, orientation: /),
          expect.stringMatching(/^line 5, map_id: /),
        ],
      ),
    )
    const known = await importCsv(
      ['mac,map_id', `${one},${mapId}`, `${one},${mapId}`, `${two},${randomUUID()}`, `${stranger.mac},`].join('\n'),
    )
    expect(known).toMatchObject(
      refusal(
        [one, two, stranger.mac],
        ['mac: is there twice', 'map_id: no map of this site has this id', 'mac: no device of this site has it'],
      ),
    )
    expect(await documents()).toEqual(before)
  })

  it('takes what the service sets as it is, and refuses another value by its name', async () => {
    await importJson(devices.map(({ mac }) => ({ mac, name: 'Named' })))
    const before = await documents()
    expect(await importJson(before)).toMatchObject({ status: 200, body: before })
    const [one, two] = before
    const wrong = [
      [{ mac: one.mac, serial: 'OTHER' }, 'serial'],
      [{ mac: one.mac, name: 'A', id: two.id }, 'id'],
      [{ mac: one.mac, type: 'switch' }, 'type'],
      [{ mac: one.mac, site_id: randomUUID() }, 'site_id'],
    ] as const
    for (const [item, field] of wrong)
      expect(await importJson([{ mac: two.mac, name: 'B' }, item])).toMatchObject(
        refusal([one.mac], [`${field}: can't be changed: the service sets it`]),
      )
    expect(await importCsv(`mac,model,name\n${one.mac},${one.model}X,A`)).toMatchObject(
      refusal([one.mac], ["model: can't be changed: the service sets it"]),
    )
    expect(
      await importJson([{ mac: one.mac.toUpperCase(), serial: '', model: one.model, '-notes': '' }]),
    ).toMatchObject({ status: 200, body: [one] })
    expect(await documents()).toEqual(before)
  })

  it.each([
    ['an empty file', '', /line 1 lacks the column mac/],
    ['no MACs', 'name\nA\n', /line 1 lacks the column mac/],
    ['a column that means nothing', 'mac,band_24.power\nx,3\n', /band_24.power/],
    ['an open quote', 'mac,name\nx,"A\n', /line 2/],
    ['too many rows', `mac\n${'x\n'.repeat(5001)}`, /more than 5000 rows/],
  ])('is refused as a whole if it contains %s', async (_what, csv, reason) => {
    expect(await importCsv(csv)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field file: '), reason: [expect.stringMatching(reason)] },
    })
  })

  it('has size limits, and must be a form with a file', async () => {
    expect((await importCsv(Buffer.alloc(1024 * 1024 + 1, 0x61))).status).toBe(413)
    expect((await importCsv(Uint8Array.of(0xff, 0xfe))).status).toBe(400)
    for (const name of ['other', 'file'])
      expect(await server.call('POST', `${path}/import`, await encodeForm({ [name]: 'x' }))).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining(`Invalid field ${name}: `) },
      })
    const text = { body: 'mac\n', headers: { 'content-type': 'text/csv' } }
    expect((await server.call('POST', `${path}/import`, text)).status).toBe(415)
  })
})

describe('an import of JSON', () => {
  it('accepts every field of a device, like an update of the device', async () => {
    const [one, two] = devices.map(({ mac }) => mac)
    const spelled = (one?.toUpperCase().match(/../g) ?? []).join(':')
    const answer = await importJson([
      { mac: spelled, name: 'A', radio_config: { band_24: { power: 3 } }, site_id: siteId, serial: `S${one}` },
      { mac: two, name: 'B', map_id: mapId.toUpperCase(), x: 1, y: 2, '-notes': '' },
    ])
    expect(answer).toMatchObject({
      status: 200,
      body: [
        { mac: one, name: 'A', radio_config: { band_24: { power: 3 } }, site_id: siteId, serial: `S${one}` },
        { mac: two, name: 'B', x: 1, y: 2 },
      ],
    })
    expect((await audits()).at(-1)).toMatchObject({ message: 'Import 2 devices' })
    expect(answer.body[1]).not.toHaveProperty('-notes')
  })

  it('omits secrets from the audit log', async () => {
    const change = { iot: { psk: 'old secret', vlan_id: 1 }, password: 'not this' }
    await importJson([{ mac: first().mac, ...change }])
    expect((await documents())[0]).toMatchObject(change)
    expect(JSON.stringify(await audits())).not.toMatch(/old secret|not this/)
    expect((await audits()).at(-1)).toMatchObject({ after: { devices: [{ iot: { vlan_id: 1 } }] } })
  })

  it('finds a device by its id or its serial number, where it has no MAC', async () => {
    const [one, two, three] = await documents()
    const items = [
      { id: one.id.toUpperCase(), serial: '', name: 'by id' },
      { mac: '', serial: two.serial, name: 'by serial' },
    ]
    expect((await importJson(items)).body).toMatchObject([
      { mac: one.mac, name: 'by id' },
      { mac: two.mac, name: 'by serial' },
    ])
    const wrong = [{ name: 'of nothing' }, { id: randomUUID() }, { id: three.id }, { mac: three.mac }, { serial: '?' }]
    expect(await importJson(wrong.slice(0, 1))).toMatchObject(
      refusal(['item 0'], ['mac: is required where there is no id and no serial']),
    )
    expect(await importJson(wrong.slice(1))).toMatchObject(
      refusal(
        [wrong[1]?.id, three.mac, '?'],
        ['id: no device of this site has it', 'mac: is there twice', 'serial: no device of this site has it'],
      ),
    )
  })

  it('reports devices that are not in the site, in parallel lists', async () => {
    const before = await documents()
    expect(await importJson([{ mac: first().mac, name: 'A' }, { mac: 'x' }])).toMatchObject(
      refusal(['x'], ['mac: is not a MAC address']),
    )
    expect(await importJson([{ mac: first().mac, name: 'A' }, { mac: '02feed000001' }])).toMatchObject(
      refusal(['02feed000001'], ['mac: no device of this site has it']),
    )
    expect(await documents()).toEqual(before)
  })

  it.each([
    ['an empty body', '', 'body'],
    ['an object', {}, 'body'],
    ['an empty list', [], 'body'],
    ['a place that is a text', [{ mac: 'x', x: '1' }], '0.x'],
    ['too many', Array.from({ length: 5001 }, () => ({ mac: 'x' })), 'body'],
  ])('is refused with %s', async (_what, body, field) => {
    const headers = { 'content-type': 'application/json' }
    expect(await server.call('POST', `${path}/import`, { body, headers })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining(`Invalid field ${field}: `) },
    })
  })
})
