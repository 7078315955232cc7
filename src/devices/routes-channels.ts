import type { SiteScope } from '../access/scope.ts'
import { site } from '../http/at.ts'
import type { Channel, StreamPart } from '../http/stream/channel.ts'
import { addMs } from '../platform/time/clock.ts'
import { imageUrl } from '../platform/images/image-url.ts'
import { type CommandResult, listCommandResults, listRecentResults } from './commands/store-list.ts'
import { listDeviceStatsById } from './stats/store.ts'
import { presentStats } from './stats/wire.ts'
import { listWirelessById } from './telemetry/store-clients.ts'
import { presentWirelessClients } from './telemetry/wire-clients.ts'
import { listDevicesById } from './store.ts'
import { presentDevice } from './wire.ts'

const devices = site('/devices', { needs: 'read' })
const stats = site('/stats/devices', { needs: 'read' })
const clients = site('/stats/clients', { needs: 'read' })

/** Clients send a command before they subscribe to its result. */
const RECENT_MS = 10_000

const commandChannel: Channel<SiteScope> = {
  at: site('/devices/:device_id/cmd', { needs: 'read' }),
  kinds: ['command_end'],
  async recent(ctx, scope, { device_id: deviceId = '' }) {
    const since = addMs(ctx.clock.now(), -RECENT_MS)
    return (await listRecentResults(ctx.db, scope, { deviceId, since })).map(presentResult)
  },
}

const devicesOf = (siteId: string): string => `/sites/${siteId}/devices`

/** Live changes of devices. Source: contract notes, "Live updates". */
export const deviceStream: StreamPart = {
  channels: [
    { at: devices, kinds: ['device', 'device_left'] },
    { at: stats, kinds: ['device_stats'] },
    { at: clients, kinds: ['device_clients'] },
    commandChannel,
  ],
  sources: [
    {
      kind: 'device',
      async read(ctx, scope, ids) {
        const urlOf = (image: string): string => imageUrl(ctx, image)
        const found = await listDevicesById(ctx.db, scope, ids)
        return found.flatMap((device) =>
          device.siteId === null
            ? []
            : [
                {
                  channels: [devicesOf(device.siteId)],
                  data: presentDevice(device, { urlOf, reveal: { written: {} } }),
                },
              ],
        )
      },
    },
    {
      kind: 'device_left',
      read: (_ctx, _scope, ids) =>
        ids.map((left) => {
          const [siteId = '', id = ''] = left.split('/')
          return { channels: [devicesOf(siteId)], data: { id, site_id: siteId, deleted: true } }
        }),
    },
    {
      kind: 'device_stats',
      async read(ctx, scope, ids) {
        const now = ctx.clock.now()
        const found = await listDeviceStatsById(ctx.db, scope, ids)
        return found.map((device) => ({
          channels: [`/sites/${device.siteId}/stats/devices`],
          data: presentStats(device, now),
        }))
      },
    },
    {
      kind: 'device_clients',
      // Each may have 512 clients.
      perRead: 10,
      async read(ctx, scope, ids) {
        const found = await listWirelessById(ctx.db, scope, ids)
        return found.flatMap((device) =>
          presentWirelessClients(device).map((data) => ({ channels: [`/sites/${device.siteId}/stats/clients`], data })),
        )
      },
    },
    {
      kind: 'command_end',
      async read(ctx, scope, ids) {
        const results = await listCommandResults(ctx.db, scope, ids)
        return results.map((result) => ({
          channels: [`${devicesOf(result.siteId)}/${result.deviceId}/cmd`],
          data: presentResult(result),
        }))
      },
    },
  ],
}

function presentResult(result: CommandResult): { readonly session: string; readonly raw: string } {
  return { session: result.id, raw: outputOf(result) }
}

/** Returns the text that clients show to the person who waits for the command. */
function outputOf({ kind, state, outcome }: CommandResult): string {
  if (state === 'done') return outcome?.text ?? `${kind}: done`
  return `${kind}: ${state}${explanationOf(outcome)}`
}

function explanationOf(outcome: CommandResult['outcome']): string {
  const why = outcome?.text ?? outcome?.why
  return why == null ? '' : `: ${why}`
}
