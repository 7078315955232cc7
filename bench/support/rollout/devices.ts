import { wakeMessage } from '../../../src/app/gateway/gateway-messages.ts'
import { openContext } from '../../../src/app/open-context.ts'
import { monotonicMs } from '../../../src/platform/time/clock.ts'
import { createLog } from '../../../src/platform/log.ts'
import { type Poller, startPoller } from '../../../src/platform/time/poller.ts'
import { createSecrets } from '../../../src/platform/secrets.ts'
import { createFollowingClock } from '../../../src/platform/time/service-clock.ts'
import { type Fleet, type SiteSeed, createFleet, seedOrg } from '../../../test/support/fleets/fleet.ts'
import { type Needs, watchLoop } from '../loop-watch.ts'
import type { ConnectMessage, FromDevices, ToDevices } from './messages.ts'
import { flushStatistics } from '../database-statistics.ts'

// The devices of the benchmark `rollout` and the records that the gateway makes of them, in a process of their own, so
// that the benchmark can tell what the rest of the service needs.

const POLL_MS = 200

interface Gateway {
  receive(message: ToDevices): Promise<void>
}

function send(message: FromDevices): void {
  process.send?.(message)
}

async function open(given: ConnectMessage): Promise<Gateway> {
  const clock = createFollowingClock(given.time, monotonicMs)
  const context = await openContext({
    connection: given.connection,
    log: createLog('warn'),
    secrets: createSecrets(Buffer.from(given.masterKey, 'hex')),
    baseUrl: 'http://127.0.0.1',
    serviceClock: clock,
  })
  const { ctx, pools } = context
  const startMs = performance.now()
  const org = await seedOrg(ctx, sizesOf(given))
  const fleet = createFleet(ctx, [org])
  await fleet.connect(org.sites.flatMap((site) => site.devices))
  const peer = ctx.wakes.connect((...wake) => send(wakeMessage(...wake)))
  await flushStatistics(pools)
  send({ kind: 'connected', orgId: org.scope.orgId, nodeId: fleet.nodeId, connectMs: performance.now() - startMs })
  const cpu = process.cpuUsage()
  let commands = 0
  let answering: { readonly poller: Poller; readonly endWatch: () => Needs } | null = null
  const answer = (): void => {
    const poller = startPoller({
      name: 'gateway',
      ctx,
      wake: 'commands',
      intervalMs: POLL_MS,
      async work() {
        const sent = await fleet.answer()
        commands += sent
        return sent > 0
      },
    })
    ctx.wakes.on('sent_commands', () => poller.wake())
    answering = { poller, endWatch: watchLoop() }
  }
  const report = async (): Promise<void> => {
    await answering?.poller.stop()
    await flushStatistics(pools)
    const { user, system } = process.cpuUsage(cpu)
    const needs = answering?.endWatch() ?? { heldMs: 0, heldCpuMs: 0, residentMb: 0 }
    send({ kind: 'report', commands, ...countFlashes(fleet), cpuMs: (user + system) / 1000, ...needs })
  }
  return {
    async receive(message) {
      if (message.kind === 'wake') peer.receive(message.name, message.ids, message.rows)
      else if (message.kind === 'time') clock.follow(message.reading)
      else if (message.kind === 'answer') answer()
      else if (message.kind === 'report') await report()
      else if (message.kind === 'end') {
        await context.close()
        process.exit()
      }
    },
  }
}

/** Distributes the devices over the sites as evenly as possible. */
function sizesOf({ devices, sites }: ConnectMessage): SiteSeed[] {
  return Array.from({ length: sites }, (_, index) => ({
    devices: Math.floor((devices * (index + 1)) / sites) - Math.floor((devices * index) / sites),
  }))
}

function countFlashes({ flashes }: Fleet) {
  const counts = [...flashes.values()]
  return {
    flashes: counts.reduce((sum, count) => sum + count, 0),
    flashedTwice: counts.filter((count) => count > 1).length,
  }
}

let gateway: Promise<Gateway> | null = null
// Every message before the answer to `connect` is a reading of the time, of which the next one is soon enough.
process.on('message', (message: ToDevices) => {
  if (message.kind === 'connect') gateway = open(message)
  else void gateway?.then((opened) => opened.receive(message))
})
process.once('disconnect', () => process.exit(1))
console.log('devices ready')
