// Devices that are worse off after an upgrade return to their backup version: real devices of the simulator, gateway, engine,
// interface and report. Only the clock is the test's.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { expect, it, onTestFinished } from 'vitest'
import { sweepFirmwareFiles } from '../../src/firmware/storage/storage.ts'
import { issueGatewayTls, makeCa } from '../../src/gateway/certificates/device-ca.ts'
import { createProtocols } from '../../src/gateway/protocols.ts'
import { startGateway } from '../../src/gateway/start-gateway.ts'
import { type RolloutOptions, defaultRolloutOptions } from '../../src/rollout/rollout.ts'
import { advanceRollouts } from '../../src/rollout/worker.ts'
import type { Fault, FaultPlan } from '../../src/simulator/faults.ts'
import type { PlannedDevice } from '../../src/simulator/fleet-plan.ts'
import { type Fleet, startFleet } from '../../src/simulator/fleet.ts'
import { imageHeader } from '../../src/simulator/image.ts'
import type { SimulatedDevice } from '../../src/simulator/ucentral/simulated-device.ts'
import { expectConsistent } from '../rollout/expect-consistent.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { addSite, claimNewDevices } from '../support/fleets/devices.ts'
import { quickTicks } from '../support/servers/quick-ticks.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'
import { WITHIN_MS, waitUntil } from '../support/wait-until.ts'

const [AP, SWITCH] = ['EAP101', 'ECS4150'] as const
const [OLD, NEW] = ['1.0.0', '2.0.0'] as const
/** Between two rounds of the engine. The devices need 50 ms for what takes real ones ten seconds. */
const STEP_MS = 30_000
const MINUTE_MS = 60_000
/** Shorter than the time-outs of real devices, so that the test takes fewer rounds. */
const options: RolloutOptions = {
  ...defaultRolloutOptions,
  rebootTimeoutMs: { ...defaultRolloutOptions.rebootTimeoutMs, ap: 5 * MINUTE_MS, switch: 5 * MINUTE_MS },
  verifyTimeoutMs: 3 * MINUTE_MS,
  reconnectGraceMs: MINUTE_MS,
  rollbackMs: 5 * MINUTE_MS,
}
/** With 23 busy processes on two processors, the first of two phases took 100 s. */
const TIMEOUT_MS = 240_000

/** The devices of a test, by what they are to do. */
type Cast = Readonly<Record<string, { readonly type: PlannedDevice['type']; readonly faults: readonly Fault[] }>>

interface World {
  readonly server: TestServer
  readonly clock: TestClock
  readonly fleet: Fleet
  readonly macs: Readonly<Record<string, string>>
  /** Rounds of the engine, until the upgrade has ended. */
  readonly finish: (upgradeId: string) => Promise<void>
}

function planned(name: string, place: number, type: PlannedDevice['type']): PlannedDevice {
  const mac = `02000000e2${place.toString(16).padStart(2, '0')}`
  const model = type === 'ap' ? AP : SWITCH
  return { mac, serial: name, model, type, firmware: OLD, methods: ['stage', 'activate', 'restore_backup'] }
}

async function startWorld(cast: Cast): Promise<World> {
  const clock = createTestClock(new Date())
  const server = await startTestServer(clock)
  onTestFinished(() => server.close())
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
  const ca = await makeCa()
  const tls = await issueGatewayTls(ca, ['127.0.0.1'])
  const address = { host: '127.0.0.1', port: 0, tls }
  const protocols = createProtocols({ ucentral: address, edge: { ...address, dataDir: server.dataDir } })
  const gateway = await startGateway(server.ctx, { nodeId: randomUUID(), protocols, limits: quickTicks })
  onTestFinished(() => gateway.stop())
  const siteId = await addSite(server)
  const devices = Object.entries(cast).map(([name, { type }], place) => planned(name, place, type))
  for (const { mac, model, type } of devices) await claimNewDevices(server, 1, { mac, model, type, siteId })
  await upload(server)
  const macs = Object.fromEntries(devices.map(({ serial, mac }) => [serial, mac]))
  const fleet = await startFleet({
    gateway: { host: '127.0.0.1', port: gateway.portOf('ucentral') },
    ca,
    devices,
    faults: faultsOf(cast, macs),
    log: server.ctx.log,
    // The gateway and all devices share this process, so on a busy machine an answer takes longer than that of a real server.
    pace: { timeScale: 0.005, stateIntervalMs: 50, answerWaitMs: WITHIN_MS },
  })
  onTestFinished(() => fleet.stop())
  const withStates = (what: string) => `${what}: ${[...fleet.devices.values()].map(shown).join(', ')}`
  await waitUntil(
    () => withStates('every device has reported'),
    async () => {
      const { body } = await server.call('GET', `/sites/${siteId}/stats/devices?type=all`)
      return body.every(({ uptime, version }: AnyJson) => uptime !== undefined && version === OLD)
    },
  )
  const finish = async (id: string): Promise<void> => {
    await waitUntil(
      () => withStates('the upgrade has ended'),
      async () => {
        if ([...fleet.devices.values()].every(isAtRest)) clock.advance(STEP_MS)
        await advanceRollouts(server.ctx, options, new AbortController().signal)
        await keepRestoring(server, fleet)
        const { body } = await server.call('GET', `/orgs/${server.org.orgId}/devices/upgrade/${id}`)
        return body.upgrades.every(({ upgrade }: AnyJson) => upgrade.status === 'completed')
      },
      TIMEOUT_MS,
    )
    await expectConsistent(server.ctx)
  }
  return { server, clock, fleet, macs, finish }
}

/** A restore is requested three times at most, so its connection must not break each time: those of real devices last seconds. */
async function keepRestoring({ ctx }: TestServer, fleet: Fleet): Promise<void> {
  const rows = await ctx.db.selectFrom('upgradeTarget').select('mac').where('state', '=', 'rolling_back').execute()
  for (const { mac } of rows) {
    const device = fleet.devices.get(mac)
    device?.setFaults(device.profile.faults.difference(new Set(['unstable'])))
  }
}

/** Time passes only while no device installs, boots or reconnects, however slow the machine is. */
function isAtRest({ activity, connected, profile: { faults } }: SimulatedDevice): boolean {
  return activity === 'lost' || (activity === 'idle' && (connected || faults.has('unstable')))
}

function shown({ profile, activity, connected, connections, firmware }: SimulatedDevice): string {
  return `${profile.serial} ${firmware} ${activity} ${connected ? 'connected' : 'disconnected'} (${connections})`
}

function faultsOf(cast: Cast, macs: Readonly<Record<string, string>>): FaultPlan {
  const plan: Partial<Record<Fault, { macs: string[] }>> = {}
  for (const [name, { faults }] of Object.entries(cast))
    for (const fault of faults) (plan[fault] ??= { macs: [] }).macs.push(macs[name] ?? '')
  return plan
}

async function upload({ url, org }: TestServer): Promise<void> {
  const answer = await fetch(`${url}/api/v1/orgs/${org.orgId}/firmware?version=${NEW}&models=${AP},${SWITCH}`, {
    method: 'POST',
    headers: { authorization: `Token ${org.token}`, 'content-type': 'application/octet-stream' },
    body: new Uint8Array(Buffer.from(imageHeader([AP, SWITCH], NEW).padEnd(50_000, '.'))),
  })
  expect(answer.status).toBe(200)
}

async function upgrade({ server, finish }: World, more: object = {}): Promise<string> {
  const body = { all_sites: true, version: NEW, rollback_on_failure: true, max_failure_percentage: 100, ...more }
  const { body: made } = await server.call('POST', `/orgs/${server.org.orgId}/devices/upgrade`, { body })
  await finish(made.id)
  return made.id
}

/** What the report says of each device, by its name in the cast, as JSON and as CSV. */
async function reportOf({ server, macs }: World, id: string) {
  const path = `/orgs/${server.org.orgId}/devices/upgrade/${id}/report`
  const { body: json } = await server.call('GET', path)
  const { body: csv } = await server.call('GET', `${path}?format=csv`)
  const lines: Record<string, string>[] = parse(String(csv), { columns: true })
  const names = new Map(Object.entries(macs).map(([name, mac]) => [mac, name]))
  const outcomesOf = (rows: readonly AnyJson[]) =>
    Object.fromEntries(
      rows.map(({ mac, status, reason, restore_reason: cause }) => [
        names.get(mac),
        [status, cause, reason].filter((word) => word !== undefined && word !== '').join(' '),
      ]),
    )
  expect(outcomesOf(lines)).toEqual(outcomesOf(json.devices))
  return { json, outcomes: outcomesOf(json.devices) }
}

function restoresOf({ commands }: AnyJson): string[] {
  const restores = commands.filter(({ command }: AnyJson) => command === 'restore_backup')
  return restores.map(({ status }: AnyJson) => status)
}

it(
  'returns canaries that fail their health check or do not stay connected, and reports why',
  { timeout: TIMEOUT_MS + WITHIN_MS },
  async () => {
    const world = await startWorld({
      healthy: { type: 'ap', faults: [] },
      plain: { type: 'switch', faults: [] },
      deaf: { type: 'ap', faults: ['unhealthy'] },
      alone: { type: 'switch', faults: ['unhealthy'] },
      shaky: { type: 'ap', faults: ['unstable'] },
      restless: { type: 'ap', faults: ['unhealthy', 'flap'] },
      powerless: { type: 'ap', faults: ['unhealthy', 'lose_power'] },
      hopeless: { type: 'switch', faults: ['unhealthy', 'lose_power'] },
      gone: { type: 'ap', faults: ['never_return'] },
      cut: { type: 'ap', faults: ['unhealthy', 'lose_restore'] },
      mute: { type: 'switch', faults: ['unhealthy', 'lose_restore'] },
    })
    const { server, fleet, macs } = world
    const id = await upgrade(world, {
      strategy: 'canary',
      canary_groups: [{ rules: [{ match_model: AP }] }],
      check_health: true,
    })
    const { json, outcomes } = await reportOf(world, id)
    expect(outcomes).toEqual({
      healthy: 'upgraded',
      plain: 'upgraded',
      deaf: 'failed health_radio rolled_back',
      alone: 'failed health_neighbor rolled_back',
      shaky: 'failed unstable rolled_back',
      restless: 'failed health_radio rolled_back',
      powerless: 'failed health_radio rollback_failed',
      hopeless: 'failed health_neighbor rollback_failed',
      gone: 'failed no_reconnect rollback_failed',
      cut: 'failed health_radio rolled_back',
      mute: 'failed health_neighbor rolled_back',
    })
    expect(json).toMatchObject({ status: 'completed', total: 11, upgraded: 2, failed: 9, downtime: { still_down: 1 } })
    expect(json.failures).toContainEqual({ reason: 'rolled_back', restore_reason: 'health_radio', devices: 3 })
    expect(json.failures.reduce((sum: number, { devices }: AnyJson) => sum + devices, 0)).toBe(9)
    expect(json.phases.map(({ upgraded, failed }: AnyJson) => upgraded + failed)).toEqual([7, 4])
    const states = Object.entries(macs).map(([name, mac]) => {
      const { firmware, counts } = fleet.devices.get(mac) ?? {}
      return [name, [firmware, counts?.flashes, counts?.boots]]
    })
    expect(Object.fromEntries(states)).toEqual({
      healthy: [NEW, 1, 1],
      plain: [NEW, 1, 1],
      deaf: [OLD, 1, 2],
      alone: [OLD, 1, 2],
      shaky: [OLD, 1, 2],
      restless: [OLD, 1, 2],
      powerless: [NEW, 1, 2],
      hopeless: [NEW, 1, 2],
      gone: [NEW, 1, 0],
      cut: [OLD, 1, 2],
      mute: [OLD, 1, 2],
    })
    const targetOf = async (name: string): Promise<AnyJson> => {
      const path = `/orgs/${server.org.orgId}/devices/upgrade/${id}/targets/${macs[name]}`
      return (await server.call('GET', path)).body
    }
    const target = await targetOf('powerless')
    const timeline = target.timeline.map(({ what, cause }: AnyJson) => `${what} ${cause}`.trim())
    expect(timeline).toEqual(
      expect.arrayContaining([
        'AP_UPGRADE_FAILED health_radio: returns to its backup version',
        'restore_backup done Attempt 3',
        'AP_RESTARTED coldboot',
        'AP_UPGRADE_FAILED rollback_failed',
        'failed rollback_failed',
      ]),
    )
    expect(restoresOf(target)).toHaveLength(1)
    // The first request was lost with its connection, and has changed nothing.
    for (const name of ['cut', 'mute']) expect(restoresOf(await targetOf(name))).toEqual(['unknown', expect.anything()])
  },
)
