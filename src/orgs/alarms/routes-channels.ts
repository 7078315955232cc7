import { org, site } from '../../http/at.ts'
import type { StreamPart } from '../../http/stream/channel.ts'
import { listAlarmsById } from './store.ts'
import { presentAlarm } from './wire.ts'

const needs = { needs: 'read' } as const

/** Live changes of alarms, of a whole organization and of a site. */
export const alarmStream: StreamPart = {
  channels: [
    { at: org('/alarms', needs), kinds: ['alarm'] },
    { at: site('/alarms', needs), kinds: ['alarm'] },
  ],
  sources: [
    {
      kind: 'alarm',
      async read(ctx, scope, ids) {
        const alarms = await listAlarmsById(ctx.db, scope, ids)
        return alarms.map((alarm) => {
          const { orgId, siteId } = alarm
          const ofSite = siteId === null ? [] : [`/sites/${siteId}/alarms`]
          return { channels: [`/orgs/${orgId}/alarms`, ...ofSite], data: presentAlarm(alarm) }
        })
      },
    },
  ],
}
