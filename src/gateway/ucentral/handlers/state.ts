import type { State, Telemetry } from '../messages.ts'
import type { Session } from '../session.ts'
import type { LinkHost } from '../../protocol.ts'

export function onState(host: LinkHost, session: Session, message: State): Promise<void> | undefined {
  return reportState(host, session, message)
}

/** Handles a requested report. If it holds several states, only the last one counts. */
export function onTelemetry(host: LinkHost, session: Session, { data }: Telemetry): Promise<void> | undefined {
  const [, last] = data?.state?.at(-1) ?? []
  return reportState(host, session, last ?? { state: {} })
}

function reportState(
  host: LinkHost,
  session: Session,
  { state, uuid: configVersion }: Pick<State, 'state' | 'uuid'>,
): Promise<void> | undefined {
  const { uptime, cpu_load: cpuLoad, memory } = state.unit ?? {}
  const cpuPercent = cpuLoad?.[0]
  const ip = addressOf(state)
  // A queued uptime is too short for the time of its arrival and would look like a boot.
  const uptimeS = session.hasAnsweredTelemetry ? (uptime ?? null) : null
  if (uptimeS !== null) session.uptime = 'reported'
  return host.report({
    deviceId: session.deviceId,
    epoch: session.epoch,
    uptimeS,
    boot: null,
    firmware: null,
    load: {
      ...(typeof cpuPercent === 'number' && { cpu_percent: cpuPercent }),
      ...(memory?.total !== undefined && { memory_total: memory.total }),
      ...(memory?.free !== undefined && { memory_free: memory.free }),
      ...(ip !== undefined && { ip }),
      ...(Number.isSafeInteger(configVersion) && { config_version: configVersion }),
    },
  })
}

/** Returns the device's first address, which is the uplink's, without the prefix length. */
function addressOf({ interfaces = [] }: State['state']): string | undefined {
  const addresses = interfaces.flatMap(({ ipv4 }) => ipv4?.addresses ?? [])
  return addresses[0]?.split('/')[0]
}
