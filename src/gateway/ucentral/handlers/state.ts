import type { State } from '../messages.ts'
import type { Session } from '../session.ts'
import type { HandlerHost } from './handler.ts'

export function onState(host: HandlerHost, session: Session, { state }: State): void {
  const { uptime, cpu_load: cpuLoad, memory } = state.unit ?? {}
  const cpuPercent = cpuLoad?.[0]
  host.report({
    deviceId: session.deviceId,
    epoch: session.epoch,
    uptimeS: uptime ?? null,
    firmware: null,
    load: {
      ...(cpuPercent !== undefined && { cpu_percent: cpuPercent }),
      ...(memory?.total !== undefined && { memory_total: memory.total }),
      ...(memory?.free !== undefined && { memory_free: memory.free }),
    },
  })
}
