import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, type TestServer, startTestServer } from '../support/servers/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

async function post(csv: string | Buffer, key = 'operator-key'): Promise<Answer> {
  const answer = await fetch(`${server.url}/operator/v1/manifest`, {
    method: 'POST',
    headers: { authorization: `Operator ${key}`, 'content-type': 'text/csv; charset=utf-8' },
    body: typeof csv === 'string' ? csv : new Uint8Array(csv),
  })
  return { status: answer.status, headers: answer.headers, body: await answer.json() }
}

const registry = () => server.ctx.db.selectFrom('deviceRegistry').selectAll().orderBy('id').execute()

describe('a manifest in CSV', () => {
  it('makes devices claimable, once, and reports row, line and column of errors', async () => {
    const csv = [
      'claim_code,mac,serial,model,type',
      'CSV01-AAAAA-00000,02:00:00:00:0c:01,"S,1",EAP102,',
      'CSV02-AAAAA-00000,nonsense,S2,EAP102,',
      'CSV03-AAAAA-00000,020000000c03,S3,Box,toaster',
      'CSV04-AAAAA-00000,020000000c04,S4,Box,switch',
      'csv01aaaaa00000,020000000c05,S5,EAP102,',
      'CSV06-AAAAA-00000,020000000c06,,EAP102,',
    ].join('\r\n')
    const conflicts = [
      { row: 1, line: 3, mac: 'nonsense', column: 'mac', reason: 'invalid mac' },
      { row: 2, line: 4, mac: '020000000c03', column: 'type', reason: expect.stringContaining('one of ap') },
      { row: 4, line: 6, mac: '020000000c05', column: 'claim_code', reason: 'another row has this claim_code' },
      { row: 5, line: 7, mac: '020000000c06', column: 'serial', reason: 'serial is required' },
    ]
    expect(await post(csv)).toMatchObject({ status: 200, body: { imported: 2, unchanged: 0, conflicts } })
    const after = await registry()
    expect(after).toMatchObject([
      { mac: '020000000c01', serial: 'S,1', type: 'ap', orgId: null },
      { mac: '020000000c04', serial: 'S4', type: 'switch', orgId: null },
    ])
    expect(await post(csv)).toMatchObject({ status: 200, body: { imported: 0, unchanged: 2, conflicts } })
    expect(await registry()).toEqual(after)
    const claim = await server.call('POST', `/orgs/${server.org.orgId}/inventory`, { body: ['csv04-aaaaa-00000'] })
    expect(claim).toMatchObject({ status: 200, body: { inventory_added: [{ serial: 'S4' }] } })
  })

  it.each<[string, string | Buffer, number, RegExp]>([
    ['an empty body', '', 400, /line 1 lacks the column mac, serial, model, claim_code/],
    ['no claim codes', 'mac,serial,model\n', 400, /line 1 lacks the column claim_code/],
    ['a short row', 'mac,serial,model,claim_code\n1,2,3,4\n1,2,3\n', 400, /line 3 has 3 columns, not 4/],
    ['an open quote', 'mac,serial,model,claim_code\n1,"2,3,4\n', 400, /line 2/],
    ['bytes that are not text', Buffer.from([0xff, 0xfe, 0]), 400, /UTF-8/],
    ['too many rows', `mac,serial,model,claim_code\n${'1,,,\n'.repeat(100_001)}`, 400, /more than 100000 rows/],
    ['too many bytes', Buffer.alloc(8 * 1024 * 1024 + 1, 0x61), 413, /large/],
  ])('with %s is refused, and changes nothing', async (_what, csv, status, why) => {
    const before = await registry()
    const { status: answered, body } = await post(csv)
    expect(answered).toBe(status)
    expect(`${body.detail} ${body.reason}`).toMatch(why)
    expect(await registry()).toEqual(before)
  })

  it('is accepted from the operator only', async () => {
    expect((await post('mac,serial,model,claim_code\n', 'another')).status).toBe(401)
  })

  it('refuses other content types', async () => {
    const operator = { as: null, headers: { authorization: 'Operator operator-key' } }
    for (const body of [
      {},
      [],
      { devices: {} },
      { devices: [{ mac: 'x' }] },
      { devices: Array.from({ length: 5001 }, () => ({})) },
    ])
      expect(await server.call('POST', '/operator/v1/manifest', { ...operator, body })).toMatchObject({ status: 400 })
  })
})
