import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { deviceIdOf } from '../../src/devices/device.ts'
import { sweepFirmwareFiles } from '../../src/firmware/storage/storage.ts'
import { startGateway } from '../../src/gateway/start-gateway.ts'
import type { JunosFault, JunosForm } from '../../src/simulator/junos/junos-device.ts'
import { seedOrg } from '../support/fleets/fleet.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'
import { quickTicks } from '../support/servers/quick-ticks.ts'
import { type JunosStart, type TestJunos, startJunos, testNetconf, untilSession } from './harness.ts'

export const models = { switch: 'EX4100-48P', gateway: 'SRX345' } as const
const OLD = '22.4R3.25'

/** A server and a gateway with one Junos device at a time. */
export interface JunosWorld {
  readonly clock: TestClock
  readonly server: TestServer
  /** This and the following members belong to the device that was started last. */
  readonly org: TestOrg
  readonly mac: string
  readonly siteId: string
  /** Starts a device in an organization of its own, and waits until it is connected. */
  start(form: JunosForm, faults?: readonly JunosFault[], call?: JunosStart['call']): Promise<TestJunos>
  /** Calls the interface as the admin of its organization. */
  call(method: string, path: string, body?: unknown): Promise<Answer>
  status(): ReturnType<typeof statusOf>
  /** Returns its commands, oldest first. */
  commands(): ReturnType<typeof commandsOf>
  /** Returns the types of its events, oldest first. */
  events(): Promise<string[]>
  close(): Promise<void>
}

export async function startJunosWorld(): Promise<JunosWorld> {
  const clock = createTestClock()
  const server = await startTestServer(clock)
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
  const gateway = await startGateway(server.ctx, {
    protocols: [testNetconf(server.ctx)],
    nodeId: randomUUID(),
    monotonicMs: () => clock.now().getTime(),
    limits: quickTicks,
  })
  let device = { org: server.org, mac: '', siteId: '' }
  return {
    clock,
    server,
    get org() {
      return device.org
    },
    get mac() {
      return device.mac
    },
    get siteId() {
      return device.siteId
    },
    async start(form, faults = [], call = {}) {
      const type = form === 'cluster' ? 'gateway' : 'switch'
      const org = await server.addOrg()
      const { sites } = await seedOrg(server.ctx, [{ devices: 1, model: models[type], type }], org.orgId)
      const mac = sites[0]?.devices[0]?.mac ?? ''
      device = { org, mac, siteId: sites[0]?.id ?? '' }
      const junos = startJunos({
        ...{ mac, model: models[type].toLowerCase(), form, faults, version: OLD },
        ...{ port: gateway.portOf('junos'), ctx: server.ctx, orgId: org.orgId, call },
      })
      await untilSession(server, mac)
      return junos
    },
    call: (method, path, body) => server.call(method, path, { body, as: device.org }),
    status: () => statusOf(server, device.mac),
    commands: () => commandsOf(server, device.mac),
    events: () => eventTypesOf(server, device.mac),
    async close() {
      await gateway.stop()
      await server.close()
    },
  }
}

function statusOf({ ctx }: TestServer, mac: string) {
  return ctx.db.selectFrom('deviceStatus').selectAll().where('deviceId', '=', deviceIdOf(mac)).executeTakeFirstOrThrow()
}

function commandsOf({ ctx }: TestServer, mac: string) {
  return ctx.db
    .selectFrom('deviceCommand')
    .select(['kind', 'state', 'outcome', 'progress'])
    .where('deviceId', '=', deviceIdOf(mac))
    .orderBy('id')
    .execute()
}

async function eventTypesOf({ ctx }: TestServer, mac: string): Promise<string[]> {
  const query = ctx.db.selectFrom('deviceEvent').select('type').where('deviceId', '=', deviceIdOf(mac))
  const rows = await query.orderBy('id').execute()
  return rows.map(({ type }) => type)
}
