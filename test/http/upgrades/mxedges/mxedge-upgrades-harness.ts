import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { sweepFirmwareFiles } from '../../../../src/firmware/storage/storage.ts'
import type { Clock } from '../../../../src/platform/time/clock.ts'
import { uploadPackage } from '../../../edge/upgrades/packages.ts'
import { addBox, pathOf, playUpgrades, targetsOf } from '../../../edge/upgrades/upgrade-world.ts'
import type { AnyJson } from '../../../support/contract/any-json.ts'
import { type Answer, type TestServer, startTestServer } from '../../../support/servers/server.ts'

export interface MxedgeUpgrades {
  readonly world: TestServer
  /** Three appliances with tunterm 1.0.0, new ones for each test. */
  readonly boxes: readonly string[]
  /** Returns the body of an upgrade of them to tunterm 2.0.0. */
  tunterm(more?: object): object
  post(body: object): Promise<Answer>
  act(id: string, verb: string, body?: object): Promise<Answer>
  /** The messages of the audit log that name an upgrade, the newest first. */
  messagesOf(id: string): Promise<readonly string[]>
  /** The ids of the appliances of an upgrade that have this status. */
  idsBy(id: string, status: string): Promise<string[]>
  /** Lets the upgrades run until nothing happens any more; the appliances that are named refuse their commands. */
  play(refusing?: readonly (string | undefined)[]): Promise<void>
}

/** Sets up a server with packages for the tests of a file. @param clock By default that of the machine. */
export function useMxedgeUpgrades(clock?: Clock): MxedgeUpgrades {
  let world: TestServer
  let boxes: string[]
  beforeAll(async () => {
    world = await startTestServer(clock)
    await sweepFirmwareFiles(world.ctx, { dir: join(world.dataDir, 'firmware') })
    for (const version of ['2.0.0', '3.0.0']) await uploadPackage(world, version, { query: 'package=tunterm' })
  })
  afterAll(() => world.close())
  beforeEach(async () => {
    boxes = []
    for (let index = 0; index < 3; index += 1) boxes.push(await addBox(world))
  })
  return {
    get world() {
      return world
    },
    get boxes() {
      return boxes
    },
    tunterm: (more = {}) => ({ mxedge_ids: boxes, versions: { tunterm: '2.0.0' }, ...more }),
    post: (body) => world.call('POST', pathOf(world), { body }),
    act: (id, verb, body = {}) => world.call('POST', `${pathOf(world)}/${id}/${verb}`, { body }),
    async messagesOf(id) {
      const { body } = await world.call('GET', `/orgs/${world.org.orgId}/logs?limit=100`)
      return body.results.map(({ message }: AnyJson) => message).filter((message: string) => message.includes(id))
    },
    async idsBy(id, status) {
      const targets = await targetsOf(world, id)
      return targets.filter((target) => target.status === status).map(({ mxedge_id }) => mxedge_id)
    },
    play: (refusing = []) => playUpgrades(world, refusing, world.org.orgId),
  }
}

/** An hour from now, in seconds. */
export function later(): number {
  return Math.floor(Date.now() / 1000) + 3600
}
