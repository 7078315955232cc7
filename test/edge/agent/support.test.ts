import { once } from 'node:events'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hookAppliance } from '../../../src/agent/hooks/hooks.ts'
import { supportReadUrl, supportUploadUrl } from '../../../src/devices/support/file-url.ts'
import { sweepSupportFiles } from '../../../src/devices/support/support-files.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { addSite } from '../../support/fleets/devices.ts'
import { addPerson } from '../../support/people.ts'
import { postSupportFile } from '../../support/support-files.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { startAgent, untilConnected } from '../start-agent.ts'
import { startRouter } from '../start-router.ts'
import { type EdgeWorld, connectAgent, eventTypes, hello, openAgent, startEdgeWorld } from '../world.ts'

const MAX = 200_000
/** The address of an upload works for 20 minutes. */
const EXPIRED_MS = 21 * 60_000
let world: EdgeWorld
beforeAll(async () => {
  world = await startEdgeWorld({}, { support: { orgMaxBytes: MAX, totalMaxBytes: MAX } })
})
afterAll(() => world.close())

const pathOf = (id: string) => `/orgs/${world.org.orgId}/mxedges/${id}`
const request = (id: string) => world.call('POST', `${pathOf(id)}/support`)
const filesOf = async (id: string) => (await world.call('GET', `${pathOf(id)}/support`)).body
const incoming = () => join(world.dataDir, 'support', 'incoming')
const stored = async () => (await readdir(join(world.dataDir, 'support'))).filter((name) => name !== 'incoming')
const untilCommand = (id: string, status: string) =>
  waitUntil(`a support command that is ${status}`, async () => {
    const { body } = await world.call('GET', `${pathOf(id)}/commands`)
    const isMeant = (command: AnyJson) => command.kind === 'support' && command.status === status
    return body.find(isMeant) ?? null
  })

/** An appliance whose agent has received a request for support files, and does nothing. */
async function askedAgent() {
  const connected = await connectAgent(world)
  const agent = await openAgent(world, connected.credentials)
  await agent.hello({ methods: [...hello.methods, 'support'] })
  agent.succeed(await agent.nextConfiguration())
  const answer = await request(connected.id)
  expect([answer.status, answer.body]).toEqual([200, {}])
  const call = await agent.nextCall()
  return { ...connected, agent, call }
}

const untilStored = (count: number) => waitUntil(`${count} stored files`, async () => (await stored()).length === count)

/** Uploads a file, of which the end is held back until `finish`, which resolves with the status of the answer. */
function slowUpload(uri: string, name: string) {
  const boundary = 'boundary'
  const part = (header: string) => `--${boundary}\r\nContent-Disposition: form-data; name=${header}\r\n\r\n`
  const post = httpRequest(uri, {
    method: 'POST',
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  })
  const answered = once(post, 'response')
  post.write(`${part('"name"')}${name}\r\n${part('"data"; filename="slow"')}begin`)
  return {
    begun: waitUntil('the upload has begun', async () => (await readdir(incoming())).length > 0),
    async finish(): Promise<number | undefined> {
      post.end(`end\r\n--${boundary}--\r\n`)
      const [response] = (await answered) as [IncomingMessage]
      response.resume()
      return response.statusCode
    },
  }
}

const upload = (uri: string, name: string, content = 'an archive') => postSupportFile(uri, name, content)

describe('the support files of an edge appliance', () => {
  test('are collected by its agent, uploaded, listed, read, and deleted', async () => {
    const { id, folder } = await startAgent(world)
    await untilConnected(world, id)
    expect((await request(id)).status).toBe(200)
    const command = await untilCommand(id, 'done')
    const [file, ...others] = await filesOf(id)
    expect(others).toEqual([])
    expect(file).toEqual({
      id: command.id,
      mxedge_id: id,
      bytes: expect.any(Number),
      url: expect.stringContaining('/support-files/'),
      created_time: expect.any(Number),
    })
    const read = await fetch(file.url)
    expect(JSON.parse(await read.text())).toMatchObject({ distro: 'bookworm', done: ['configure'] })
    expect(read.headers.get('content-disposition')).toContain(`filename="support-${id}-${file.id}.bin"`)
    expect((await readdir(folder)).filter((name) => name.startsWith('support'))).toEqual([])
    expect(await eventTypes(world, id)).toContain('ME_SUPPORT_FILES_UPLOADED')
    const { body: logs } = await world.call('GET', `/orgs/${world.org.orgId}/logs?limit=2`)
    expect(logs.results.map(({ message }: { message: string }) => message)).toEqual([
      'Edge appliance "Edge" has uploaded support files',
      'Collect support files of edge appliance "Edge"',
    ])
    expect((await world.call('GET', `${pathOf(id)}/support/${file.id}`)).body).toMatchObject({ id: file.id })
    expect((await world.call('DELETE', `${pathOf(id)}/support/${file.id}`)).status).toBe(200)
    expect(await filesOf(id)).toEqual([])
    expect((await fetch(file.url)).status).toBe(404)
    expect(await stored()).toEqual([])
  })

  test('are what the hook prints, byte for byte', async () => {
    const bytes = Buffer.from(Array.from({ length: 150_000 }, (_, index) => (index * 7) % 256))
    const archive = join(await temporaryDir(), 'archive')
    await writeFile(archive, bytes)
    const { id } = await startAgent(world, {
      applianceOf: (parts) => hookAppliance({ services: {}, support: ['cat', archive] }, parts),
    })
    await untilConnected(world, id)
    await request(id)
    await untilCommand(id, 'done')
    const [file] = await filesOf(id)
    expect(Buffer.from(await (await fetch(file.url)).arrayBuffer()).equals(bytes)).toBe(true)
    // The quota of the organization is that of the files of its devices.
    await request(id)
    const { reason } = await untilCommand(id, 'rejected')
    expect(reason).toContain('The server answered 400 to the upload: Invalid field data: ')
    expect(await filesOf(id)).toHaveLength(1)
    // They are deleted with the appliance.
    await world.call('DELETE', pathOf(id))
    await sweepSupportFiles(world.ctx, { dir: join(world.dataDir, 'support') })
    expect(await stored()).toEqual([])
    expect((await fetch(file.url)).status).toBe(404)
  })

  test('that the hook can not collect are not uploaded, and the reason is recorded', async () => {
    const failing = ['sh', '-c', 'echo half; echo no space >&2; exit 3'] as const
    const { id, folder } = await startAgent(world, {
      applianceOf: (parts) => hookAppliance({ services: {}, support: failing }, parts),
    })
    await untilConnected(world, id)
    await request(id)
    expect((await untilCommand(id, 'rejected')).reason).toBe('sh ended with 3: no space')
    expect(await filesOf(id)).toEqual([])
    expect((await readdir(folder)).filter((name) => name.startsWith('support'))).toEqual([])
    expect(await eventTypes(world, id)).toContain('ME_COMMAND_FAILED')
  })

  test('can not be asked for where the appliance has no hook for them', async () => {
    const { id } = await startAgent(world, { applianceOf: (parts) => hookAppliance({ services: {} }, parts) })
    await untilConnected(world, id)
    expect(await request(id)).toMatchObject({
      status: 400,
      body: { detail: "The agent of the edge appliance can't collect support files: its hooks have no support" },
    })
  })

  test('keep one upload for each command, and accept it only from this appliance', async () => {
    const { id, call, agent } = await askedAgent()
    const { uri, command_id: commandId } = call.params
    expect(await upload(uri, commandId)).toBe(400)
    expect(await upload(`${uri}x`, id)).toBe(404)
    expect(await upload(supportReadUrl(world.ctx, { orgId: world.org.orgId, commandId }), id)).toBe(404)
    expect(await upload(uri, id, '')).toBe(400)
    expect(await upload(uri, id, 'first')).toBe(200)
    expect(await upload(uri, id, 'second')).toBe(200)
    const files = await filesOf(id)
    expect(files).toHaveLength(1)
    expect(await (await fetch(files[0].url)).text()).toBe('first')
    expect(await stored()).toHaveLength(1)
    agent.succeed(call)
    await untilCommand(id, 'done')
    expect(await upload(supportUploadUrl(world.ctx, { orgId: world.org.orgId, commandId: id }), id)).toBe(404)
    await world.call('DELETE', `${pathOf(id)}/support/${files[0].id}`)
  })

  test('that an agent uploads again are accepted, whether the first upload has ended or not, and need no room', async () => {
    const { id, call } = await askedAgent()
    const { uri } = call.params
    const slow = slowUpload(uri, id)
    await slow.begun
    const large = 'x'.repeat(0.75 * MAX)
    expect(await upload(uri, id, large)).toBe(200)
    expect(await upload(uri, id, large)).toBe(200)
    expect(await slow.finish()).toBe(200)
    const [file, ...others] = await filesOf(id)
    expect(others).toEqual([])
    expect(await (await fetch(file.url)).text()).toBe(large)
    await untilStored(1)
    await world.call('DELETE', `${pathOf(id)}/support/${file.id}`)
  })

  test('that an agent uploads again after the first upload has ended are not written to the disk', async () => {
    const { id, call } = await askedAgent()
    const { uri } = call.params
    expect(await upload(uri, id)).toBe(200)
    await rm(incoming(), { recursive: true })
    expect(await upload(uri, id)).toBe(200)
    expect(await upload(uri, 'another')).toBe(400)
    await mkdir(incoming(), { mode: 0o700 })
    const [file] = await filesOf(id)
    await world.call('DELETE', `${pathOf(id)}/support/${file.id}`)
  })

  test('are accepted again after their address has expired, until the agent has answered, and none that come first', async () => {
    const [stored, late] = [await askedAgent(), await askedAgent()]
    const { uri } = stored.call.params
    expect(await upload(uri, stored.id, 'first')).toBe(200)
    world.shift(EXPIRED_MS)
    expect(await upload(uri, stored.id, 'second')).toBe(200)
    expect(await upload(late.call.params.uri, late.id)).toBe(403)
    stored.agent.succeed(stored.call)
    await untilCommand(stored.id, 'done')
    expect(await upload(uri, stored.id, 'third')).toBe(403)
    world.shift(-EXPIRED_MS)
    const [file, ...others] = await filesOf(stored.id)
    expect(others).toEqual([])
    expect(await (await fetch(file.url)).text()).toBe('first')
    await world.call('DELETE', `${pathOf(stored.id)}/support/${file.id}`)
  })

  test('are not stored if the appliance is deleted during the upload', async () => {
    const { id, call } = await askedAgent()
    const slow = slowUpload(call.params.uri, id)
    await slow.begun
    expect((await world.call('DELETE', pathOf(id))).status).toBe(200)
    expect(await slow.finish()).toBe(403)
    await untilStored(0)
    expect(await readdir(incoming())).toEqual([])
  })

  test('are for admins, of the organization or of the site, and not for others', async () => {
    const { id, call } = await askedAgent()
    expect(await upload(call.params.uri, id)).toBe(200)
    const [siteId, otherId] = [await addSite(world), await addSite(world)]
    const assign = { body: { mxedge_ids: [id], site_id: siteId } }
    await world.call('POST', `/orgs/${world.org.orgId}/mxedges/assign`, assign)
    const atSite = `/sites/${siteId}/mxedges/${id}/support`
    const [file] = (await world.call('GET', atSite)).body
    expect(file).toMatchObject({ mxedge_id: id })
    expect((await world.call('GET', `/sites/${otherId}/mxedges/${id}/support`)).status).toBe(404)
    expect((await world.call('GET', `/sites/${otherId}/mxedges/${id}/support/${file.id}`)).status).toBe(404)
    const { id: another } = await connectAgent(world)
    expect((await world.call('GET', `${pathOf(another)}/support/${file.id}`)).status).toBe(404)
    const helpdesk = await addPerson(world, [{ scope: 'org', role: 'helpdesk' }])
    expect((await world.call('GET', atSite, { as: helpdesk })).status).toBe(403)
    expect((await world.call('DELETE', `${atSite}/${file.id}`)).status).toBe(200)
  })
})

test('the support files of a router are collected by its agent, and one that is uploaded again is not kept', async () => {
  const router = await startRouter(world)
  const path = `/sites/${router.siteId}/devices/${router.deviceId}/support`
  const { status, body } = await world.call('POST', path, { body: {} })
  expect(status).toBe(200)
  const file = await waitUntil('the file', async () => (await world.call('GET', path)).body[0] ?? null)
  expect(file.id).toBe(body.session)
  expect(JSON.parse(await (await fetch(file.url)).text())).toMatchObject({ version: '6.1.0' })
  const uri = supportUploadUrl(world.ctx, { orgId: world.org.orgId, commandId: body.session })
  expect(await upload(uri, router.mac)).toBe(200)
  expect((await world.call('GET', path)).body).toHaveLength(1)
  await world.call('DELETE', `${path}/${file.id}`)
})
