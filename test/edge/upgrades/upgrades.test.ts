import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Faults, dryRunAppliance } from '../../../src/agent/dry-run.ts'
import { hookAppliance } from '../../../src/agent/hooks/hooks.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { js } from '../../support/hook-parts.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { lastEvent, order, untilEnded, upgradeOf, uploadPackage } from './packages.ts'
import { type StartedAgent, doneBy, startAgent, untilConnected } from '../start-agent.ts'
import { type EdgeWorld, startEdgeWorld } from '../world.ts'

let world: EdgeWorld
let damaged: AnyJson
beforeAll(async () => {
  world = await startEdgeWorld()
  damaged = await uploadPackage(world, '2.0.1')
})
afterAll(() => world.close())

const stats = async (id: string) => (await world.call('GET', `/orgs/${world.org.orgId}/stats/mxedges/${id}`)).body
const leftIn = async (folder: string) => readdir(join(folder, 'artifacts')).catch(() => [])

async function start(options: Parameters<typeof startAgent>[1] = {}): Promise<StartedAgent> {
  const agent = await startAgent(world, options)
  await untilConnected(world, agent.id)
  return agent
}

function untilDone(id: string, commands: number): Promise<boolean> {
  return waitUntil(`${commands} commands are done`, async () => {
    const { body } = await world.call('GET', `/orgs/${world.org.orgId}/mxedges/${id}/commands`)
    return body.filter(({ status }: { readonly status: string }) => status === 'done').length === commands
  })
}

describe('the agent', () => {
  test('downloads a package, installs it, and reports the new version before it answers', async () => {
    const { id, folder } = await start()
    const image = await uploadPackage(world, '2.0.0', { bytes: randomBytes(700_000) })
    await order(world, id, upgradeOf(image))
    expect(await untilEnded(world, id, 'done')).toMatchObject({ progress: { step: 'install' } })
    expect((await stats(id)).service_stat.tunterm.package_version).toBe('2.0.0')
    expect(await doneBy(folder)).toEqual(['configure', 'install tunterm 2.0.0 of 700000 bytes'])
    expect(await leftIn(folder)).toEqual([])
  })

  test('installs nothing where the service has the version', async () => {
    const { id, folder } = await start()
    await order(world, id, upgradeOf(await uploadPackage(world, '1.0.0')))
    await untilEnded(world, id, 'done')
    expect(await doneBy(folder)).toEqual(['configure'])
  })

  test.each<[Faults, string]>([
    [{ install: 'bad_package' }, 'The package of tunterm 2.0.1 is damaged'],
    [{ install: 'other_version' }, 'The package was installed, but tunterm reports 2.0.1+other, not 2.0.1'],
  ])('says why an installation with %j failed, and keeps no file', async (faults, reason) => {
    const { id, folder } = await start({ applianceOf: ({ state }) => dryRunAppliance(state, faults) })
    await order(world, id, upgradeOf(damaged))
    expect(await untilEnded(world, id, 'rejected')).toMatchObject({ reason })
    expect(await lastEvent(world, id)).toMatchObject({ type: 'ME_PACKAGE_UPDATE_FAILED', text: reason })
    expect(await leftIn(folder)).toEqual([])
  })

  test('refuses a package for a service that it does not have', async () => {
    const { id } = await start()
    await order(world, id, upgradeOf(await uploadPackage(world, '2.0.2'), '2.0.2', 'mxdas'))
    expect(await untilEnded(world, id, 'rejected')).toMatchObject({ reason: 'There is no service mxdas' })
  })

  test("installs only packages that are signed with the operator's key", async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const { id } = await start({ packageKey: publicKey })
    const bytes = randomBytes(1000)
    const image = await uploadPackage(world, '2.0.3', { bytes })
    await order(world, id, upgradeOf(image))
    expect(await untilEnded(world, id, 'rejected')).toMatchObject({
      reason: 'The artifact has no signature, which this agent demands',
    })
    const signature = sign(null, createHash('sha256').update(bytes).digest(), privateKey).toString('base64')
    await world.ctx.db.updateTable('firmwareImage').set({ signature }).where('id', '=', image.id).execute()
    await order(world, id, upgradeOf(image))
    await untilEnded(world, id, 'done')
  })

  test('upgrades its distribution, once where it is asked twice for the same one', async () => {
    const { id, folder } = await start()
    const upgrade = (codename: string) =>
      order(world, id, { kind: 'upgrade_distro', params: { codename, from: 'bookworm' } })
    await upgrade('next')
    await untilEnded(world, id, 'done')
    expect((await stats(id)).distro).toBe('trixie')
    await upgrade('trixie')
    await untilDone(id, 3)
    expect(await doneBy(folder)).toEqual(['configure', 'upgrade to trixie'])
  })

  test('upgrades its distribution by one release although the command arrives twice', async () => {
    const { id, folder } = await start()
    const upgrade = () => order(world, id, { kind: 'upgrade_distro', params: { codename: 'next', from: 'bookworm' } })
    await Promise.all([upgrade(), upgrade()])
    await untilDone(id, 3)
    expect(await doneBy(folder)).toEqual(['configure', 'upgrade to trixie'])
  })

  test.each<[Faults, string]>([
    [{ distro: 'fails' }, 'The upgrade of the distribution has failed'],
    [{ distro: 'changes_nothing' }, 'The upgrade has ended, but the distribution still is bookworm'],
  ])('says why the upgrade of the distribution with %j failed', async (faults, reason) => {
    const { id } = await start({ applianceOf: ({ state }) => dryRunAppliance(state, faults) })
    await order(world, id, { kind: 'upgrade_distro', params: { codename: 'next', from: 'bookworm' } })
    expect(await untilEnded(world, id, 'rejected')).toMatchObject({ reason })
    expect(await lastEvent(world, id)).toMatchObject({ type: 'ME_DISTRO_UPGRADE_FAILED', text: reason })
  })
})

test("the operator's commands install a package, and report its version and statistics that Linux lacks", async () => {
  const place = await temporaryDir()
  const [installed, version] = [join(place, 'installed'), join(place, 'version')]
  const idle = js('')
  const tunterm = {
    version: js(`process.stdout.write(require('fs').readFileSync(${JSON.stringify(version)}))`),
    install: js(`const fs = require('fs'); const [file, version] = process.argv.slice(1)
      fs.copyFileSync(file, ${JSON.stringify(installed)}); fs.writeFileSync(${JSON.stringify(version)}, version)`),
    ...{ status: idle, start: idle, stop: idle, restart: idle },
  }
  const told = js(`console.log('{"num_tunnels":7,"idrac_version":"4.1"}')`)
  const hooks = { services: { tunterm }, stats: told }
  const { id } = await start({ applianceOf: (parts) => hookAppliance(hooks, parts) })
  expect(await stats(id)).toMatchObject({
    service_stat: { tunterm: { package_state: 'not_installed' } },
    num_tunnels: 7,
    idrac_version: '4.1',
  })
  const bytes = randomBytes(50_000)
  await order(world, id, upgradeOf(await uploadPackage(world, '3.0.0', { bytes })))
  await untilEnded(world, id, 'done')
  expect((await readFile(installed)).equals(bytes)).toBe(true)
  expect((await stats(id)).service_stat.tunterm.package_version).toBe('3.0.0')
})
