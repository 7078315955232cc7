import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { applianceLimits, hookLimitsMs } from '../../../src/mxedges/commands/time-limits.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { lastEvent, order, untilEnded, upgradeOf, uploadPackage } from './packages.ts'
import { type EdgeWorld, connectAgent, startEdgeWorld } from '../world.ts'

let world: EdgeWorld
beforeAll(async () => {
  // Time limits of commands are longer than the silence by which a connection counts as dead.
  world = await startEdgeWorld({ pingMs: 1e9, deadMs: 1e9 })
})
afterAll(() => world.close())

const commandOf = async (id: string) =>
  (await world.call('GET', `/orgs/${world.org.orgId}/mxedges/${id}/commands?limit=1`)).body[0]

describe('the upgrade of a service', () => {
  test('brings an address at which exactly the package is, and ends with the versions in an event', async () => {
    const bytes = randomBytes(2000)
    const image = await uploadPackage(world, '2.1.0', { bytes })
    const { id, agent } = await connectAgent(world)
    await order(world, id, upgradeOf(image))
    const call = await agent.nextCall()
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const command = await commandOf(id)
    expect(call).toMatchObject({
      method: 'service.upgrade',
      params: { command_id: command.id, service: 'tunterm', version: '2.1.0', artifact: { size: 2000, sha256 } },
    })
    const answer = await fetch(call.params.artifact.uri)
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true)
    agent.succeed(call)
    expect(await untilEnded(world, id, 'done')).toMatchObject({
      kind: 'upgrade_service',
      params: { service: 'tunterm', version: '2.1.0' },
    })
    const update = { package: 'tunterm', from_version: '1.0.0', to_version: '2.1.0' }
    expect(await lastEvent(world, id)).toMatchObject({ type: 'ME_PACKAGE_UPDATED', ...update })
  })

  test('that fails has its reason in the record and in the event', async () => {
    const image = await uploadPackage(world, '2.1.1')
    const { id, agent } = await connectAgent(world)
    await order(world, id, upgradeOf(image))
    agent.fail(await agent.nextCall(), 2, 'dpkg ended with 1: no such dependency')
    expect(await untilEnded(world, id, 'rejected')).toMatchObject({ reason: 'dpkg ended with 1: no such dependency' })
    expect(await lastEvent(world, id)).toMatchObject({
      type: 'ME_PACKAGE_UPDATE_FAILED',
      to_version: '2.1.1',
      text: 'dpkg ended with 1: no such dependency',
    })
  })

  test('is rejected where its package was deleted before it could be sent', async () => {
    const image = await uploadPackage(world, '2.1.2')
    const { id } = await connectAgent(world)
    await world.ctx.db.deleteFrom('firmwareImage').where('id', '=', image.id).execute()
    await order(world, id, upgradeOf(image))
    expect(await untilEnded(world, id, 'rejected')).toMatchObject({ reason: 'The image no longer exists' })
  })

  test('has as much time as its reports of progress renew, and shows the last of them', async () => {
    const image = await uploadPackage(world, '2.1.3')
    const { id, agent } = await connectAgent(world)
    await order(world, id, upgradeOf(image))
    const call = await agent.nextCall()
    const report = async (step: string, percent: number | null) => {
      agent.notify('progress', { command_id: call.params.command_id, step, percent })
      await waitUntil(step, async () => (await commandOf(id)).progress?.step === step)
    }
    world.advance(applianceLimits['service.upgrade'].callMs - 1000)
    await report('download', 40)
    expect((await commandOf(id)).progress).toEqual({ step: 'download', percent: 40 })
    world.advance(applianceLimits['service.upgrade'].downloadMs - 1000)
    await report('install', null)
    expect((await commandOf(id)).progress).toEqual({ step: 'install' })
    world.advance(applianceLimits['service.upgrade'].installMs - 1000)
    await world.call('GET', '/self')
    expect((await commandOf(id)).status).toBe('sent')
    world.advance(2000)
    expect(await untilEnded(world, id, 'unknown')).toMatchObject({ reason: 'timeout' })
  })

  test('ends although its agent reports progress for ever', async () => {
    const image = await uploadPackage(world, '2.1.5')
    const { id, agent } = await connectAgent(world)
    await order(world, id, upgradeOf(image))
    const { command_id } = (await agent.nextCall()).params
    const { installMs, longestMs } = applianceLimits['service.upgrade']
    const everyMs = installMs - 1000
    for (let reports = 1; (reports - 1) * everyMs < longestMs; reports += 1) {
      agent.notify('progress', { command_id, step: 'install', percent: reports })
      await waitUntil('the progress', async () => (await commandOf(id)).progress?.percent === reports)
      world.advance(everyMs)
    }
    expect(await untilEnded(world, id, 'unknown')).toMatchObject({ reason: 'timeout' })
  })

  test('is not prolonged by progress of another command, nor by nonsense', async () => {
    const image = await uploadPackage(world, '2.1.4')
    const { id, agent } = await connectAgent(world)
    await order(world, id, upgradeOf(image))
    await agent.nextCall()
    world.advance(applianceLimits['service.upgrade'].callMs - 1000)
    agent.notify('progress', { command_id: image.id, step: 'download', percent: 1 })
    agent.call(77, 'progress', { command_id: image.id, step: 'rest', percent: 1 })
    await waitUntil('the refusal', () => agent.answers.find(({ id: answered }) => answered === 77) ?? null)
    world.advance(2000)
    await untilEnded(world, id, 'unknown')
  })
})

test('the upgrade of a distribution is carried, recorded and reported, and its progress leaves it its hour', async () => {
  const { id, agent } = await connectAgent(world)
  await order(world, id, { kind: 'upgrade_distro', params: { codename: 'next', from: 'bookworm' } })
  const call = await agent.nextCall()
  expect(call).toMatchObject({ method: 'distro.upgrade', params: { codename: 'next', from: 'bookworm' } })
  agent.notify('progress', { command_id: call.params.command_id, step: 'install', percent: null })
  await waitUntil('the installation', async () => (await commandOf(id)).progress?.step === 'install')
  world.advance(hookLimitsMs.upgradeDistro)
  await world.call('GET', '/self')
  expect((await commandOf(id)).status).toBe('sent')
  agent.succeed(call)
  await untilEnded(world, id, 'done')
  expect(await lastEvent(world, id)).toMatchObject({ type: 'ME_DISTRO_UPGRADED' })
})
