import { readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addMxedge } from '../../support/fleets/mxedges.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { doneBy, startAgent, untilConnected } from '../start-agent.ts'
import { type EdgeWorld, eventTypes, startEdgeWorld } from '../world.ts'

let world: EdgeWorld
beforeAll(async () => {
  world = await startEdgeWorld()
})
afterAll(() => world.close())

const pathOf = (id: string) => `/orgs/${world.org.orgId}/mxedges/${id}`
const stats = async (id: string) => (await world.call('GET', `/orgs/${world.org.orgId}/stats/mxedges/${id}`)).body

describe('the agent', () => {
  test('registers, connects, takes its configuration, and keeps its secrets to itself', async () => {
    const { id, folder } = await startAgent(world)
    await untilConnected(world, id)
    expect(await stats(id)).toMatchObject({
      status: 'connected',
      uptime: expect.any(Number),
      memory_stat: { total: expect.any(Number) },
      service_stat: { tunterm: { package_version: '1.0.0', running_state: 'running' } },
    })
    expect(JSON.parse(await readFile(join(folder, 'configuration.json'), 'utf8')).configuration).toEqual({
      name: 'Edge',
      model: 'ME-VM',
    })
    for (const name of await readdir(folder)) {
      const { mode } = await stat(join(folder, name))
      expect([name, mode & 0o077]).toEqual([name, 0])
    }
    expect((await stat(join(folder, 'commands'))).mode & 0o077).toBe(0)
  })

  test('restarts a service, bounces ports and disconnects access points', async () => {
    const { id, folder } = await startAgent(world)
    await untilConnected(world, id)
    await world.call('POST', `${pathOf(id)}/services/tunterm/stop`)
    await world.call('POST', `${pathOf(id)}/services/tunterm/bounce_port`, { body: { ports: ['0', '1'] } })
    await world.call('POST', `${pathOf(id)}/services/tunterm/disconnect_aps`, { body: { macs: ['5c5b350e0001'] } })
    await waitUntil('all done', async () => (await eventTypes(world, id)).includes('ME_APS_DISCONNECTED'))
    expect(await doneBy(folder)).toEqual(['configure', 'stop tunterm', 'bounce 0 1', 'disconnect 5c5b350e0001'])
  })

  test('ends for good when another box is to replace it, and its replacement takes over', async () => {
    const { id, ended, folder } = await startAgent(world)
    await untilConnected(world, id)
    await world.call('POST', `${pathOf(id)}/restart`)
    expect(await ended).toBe('unregistered')
    expect(await readdir(folder)).not.toContain('key.pem')
    const again = await startAgent(world, { folder, code: 'NOBODY' })
    await expect(again.ended).rejects.toThrow('The service answered 400: Invalid field code')

    const { magic } = (await world.call('GET', pathOf(id))).body
    await startAgent(world, { code: magic })
    await waitUntil('the replacement', async () => (await stats(id)).status === 'connected')
  })

  test('connects again after the connection broke, without registering again', async () => {
    const { id, folder, stop } = await startAgent(world)
    await untilConnected(world, id)
    const key = await readFile(join(folder, 'key.pem'), 'utf8')
    await stop()
    await waitUntil('disconnected', async () => (await stats(id)).status === 'disconnected')
    await startAgent(world, { folder, code: 'USED-UP' })
    await waitUntil('connected', async () => (await stats(id)).status === 'connected')
    expect(await readFile(join(folder, 'key.pem'), 'utf8')).toBe(key)
    // It had applied its configuration before.
    expect((await doneBy(folder)).filter((done) => done === 'configure')).toHaveLength(1)
  })

  test('keeps its certificate until it has registered again, and says why it could not', async () => {
    const { id, folder, stop } = await startAgent(world)
    await untilConnected(world, id)
    await stop()
    const read = async () => {
      const names = ['key.pem', 'registration.json']
      return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
    }
    const before = await read()
    const refused = await startAgent(world, { folder, code: 'WRONGCODE1', registersAgain: true })
    await expect(refused.ended).rejects.toThrow(
      /^The agent could not register again: The service answered 400: .*code.*\. The agent keeps its certificate, and connects with it if it is started without --register-again$/,
    )
    expect(await read()).toEqual(before)
    await waitUntil('disconnected', async () => (await stats(id)).status === 'disconnected')
    await startAgent(world, { folder, code: 'WRONGCODE1' })
    await waitUntil('connected', async () => (await stats(id)).status === 'connected')
  })

  test('registers again with the key of a renewed certificate, in the place of a renewal that has begun', async () => {
    const { id, magic } = await addMxedge(world)
    const { folder, stop } = await startAgent(world, { code: magic })
    await untilConnected(world, id)
    await stop()
    const [keyFile, file, nextFile] = ['key.pem', 'registration.json', 'next.json'].map((name) => join(folder, name))
    if (keyFile === undefined || file === undefined || nextFile === undefined) throw new Error('no files')
    const key = await readFile(keyFile, 'utf8')
    const before = { ...JSON.parse(await readFile(file, 'utf8')), key }
    for (const name of [file, nextFile]) await writeFile(name, JSON.stringify(before))
    await rm(keyFile)
    await waitUntil('disconnected', async () => (await stats(id)).status === 'disconnected')
    await startAgent(world, { folder, code: magic, registersAgain: true })
    await waitUntil('connected', async () => (await stats(id)).status === 'connected')
    const after = JSON.parse(await readFile(file, 'utf8'))
    expect(after).toEqual({ ...before, certificate: expect.any(String) })
    expect(after.certificate).not.toBe(before.certificate)
    expect(await readdir(folder)).not.toContain('next.json')
  })

  test("says why where it can't register", async () => {
    const { magic } = await addMxedge(world)
    const plain = await startAgent(world, { registration: { url: 'http://signalbox.example', code: magic } })
    await expect(plain.ended).rejects.toThrow('must begin with https, not http://')
    const none = await startAgent(world, { folder: await temporaryDir(), code: 'NOBODY' })
    await expect(none.ended).rejects.toThrow('no edge appliance awaits its registration with this code')
  })
})
