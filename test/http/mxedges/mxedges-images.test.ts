import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { filterKnownImages } from '../../../src/app/images.ts'
import { picture, postForm } from '../../maps/pictures.ts'
import { addMxedge, lastRecords } from '../../support/fleets/mxedges.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let mxedges: string
beforeAll(async () => {
  server = await startTestServer()
  mxedges = `/orgs/${server.org.orgId}/mxedges`
})
afterAll(() => server.close())

const files = async () => (await readdir(join(server.dataDir, 'images'))).filter((name) => name !== 'incoming').sort()
const upload = async (id: string, number: number | string, grey = 200) =>
  postForm(server, `${mxedges}/${id}/image/${number}`, {
    file: { bytes: await picture(20, 10, { grey }), type: 'image/png', name: 'a.png' },
  })

describe('pictures of an appliance', () => {
  it('have a working address and three numbers', async () => {
    const { id } = await addMxedge(server, { name: 'Seen' })
    const answer = await upload(id, 2)
    expect([answer.status, answer.body]).toEqual([200, {}])
    await upload(id, 3)
    const { body } = await server.call('GET', `${mxedges}/${id}`)
    expect(body).not.toHaveProperty('image1_url')
    const shown = await fetch(body.image2_url)
    expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/png'])
    expect(body.image3_url).not.toBe(body.image2_url)
    const list = await server.call('GET', mxedges)
    expect(list.body.find((mxedge: { id: string }) => mxedge.id === id)).toMatchObject({ image2_url: body.image2_url })
    const { audit, event } = await lastRecords(server)
    expect(audit).toMatchObject({ message: 'Set image 3 of edge appliance "Seen"', after: { number: 3, width: 20 } })
    expect(event).toMatchObject({ mxedge_id: id, text: 'Image 3 set' })
    for (const number of [0, 4, 'x']) expect((await upload(id, number)).status).toBe(400)
  })

  it('leave no file behind when they are replaced or deleted, alone or with the appliance', async () => {
    const before = await files()
    const { id } = await addMxedge(server)
    await upload(id, 1)
    await upload(id, 1, 100)
    const one = (await files()).filter((name) => !before.includes(name))
    expect(one).toHaveLength(1)
    expect(await filterKnownImages(server.ctx.db, [...one, 'unknown.png'])).toEqual(new Set(one))
    expect((await server.call('DELETE', `${mxedges}/${id}/image/1`)).status).toBe(200)
    expect(await files()).toEqual(before)
    expect((await server.call('DELETE', `${mxedges}/${id}/image/1`)).status).toBe(404)
    await upload(id, 1)
    await server.call('DELETE', `${mxedges}/${id}`)
    expect(await files()).toEqual(before)
  })

  it('are refused if they are invalid, and nothing is stored', async () => {
    const { id } = await addMxedge(server)
    const before = await files()
    const path = `${mxedges}/${id}/image/1`
    const lying = { file: { bytes: await picture(8, 8, { format: 'jpeg' }), type: 'image/png' } }
    expect((await postForm(server, path, lying)).status).toBe(400)
    expect((await postForm(server, path, { file: { bytes: 'no picture', type: 'image/png' } })).status).toBe(400)
    expect((await postForm(server, path, { json: '{}' })).body).toMatchObject({
      detail: expect.stringContaining('Invalid field file: '),
    })
    expect((await server.call('POST', path, { body: {} })).status).toBe(415)
    expect(await files()).toEqual(before)
    expect((await server.call('GET', `${mxedges}/${id}`)).body).not.toHaveProperty('image1_url')
  })
})
