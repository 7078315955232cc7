import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addSite } from '../../../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../../../support/servers/server.ts'
import { picture } from '../../../maps/pictures.ts'

let server: TestServer
let path: string
let png: Uint8Array
beforeAll(async () => {
  server = await startTestServer()
  const { body } = await server.call('POST', `/sites/${await addSite(server)}/maps`, { body: {} })
  path = `/sites/${body.site_id}/maps/${body.id}/image`
  png = await picture(8, 8)
})
afterAll(() => server.close())

const type = 'multipart/form-data; boundary=x'
const fileHead =
  '--x\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\ncontent-type: image/png\r\n\r\n'
const textHead = '--x\r\ncontent-disposition: form-data; name="json"\r\n\r\n'

function post(contentType: string, parts: readonly (string | Uint8Array)[]) {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)))
  return server.call('POST', path, { body, headers: { 'content-type': contentType } })
}

describe('a broken form', () => {
  it('that names no boundary is refused', async () => {
    const answer = await post('multipart/form-data', [fileHead, png, '\r\n--x--\r\n'])
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining('must name its boundary') } })
  })

  it.each<[string, () => (string | Uint8Array)[]]>([
    ['before any part', () => ['--x']],
    ['in the header of a part', () => ['--x\r\ncontent-disposition: form-da']],
    ['in a text', () => [textHead, '{"a": 1']],
    ['in the file', () => [fileHead, png.subarray(0, 20)]],
    ['behind the file', () => [fileHead, png]],
    ['in a second text', () => [fileHead, png, `\r\n${textHead}{"a"`]],
  ])('that ends %s is refused, and leaves no file', async (_where, parts) => {
    const answer = await post(type, parts())
    expect(answer).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/ends before its closing boundary|PNG|image/) },
    })
    expect(await readdir(join(server.dataDir, 'images', 'incoming'))).toEqual([])
  })

  it.each<[string, Uint8Array]>([
    ['a text that is not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['a text in Latin-1', Buffer.from('{"name": "Zürich"}', 'latin1')],
  ])('with %s is refused', async (_what, text) => {
    const answer = await post(type, [fileHead, png, `\r\n${textHead}`, text, '\r\n--x--\r\n'])
    expect(answer).toMatchObject({ status: 400, body: { detail: 'Invalid field json: is not UTF-8 text' } })
  })
})
