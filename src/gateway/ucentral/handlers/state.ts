import type { Telemetry as DeviceTelemetry } from '../../../devices/telemetry/telemetry.ts'
import type { State, Telemetry } from '../messages.ts'
import type { Session } from '../session.ts'
import type { LinkHost } from '../../protocol.ts'
import { decodeState } from '../state/decode-state.ts'
import { reportOf } from './report-of.ts'

export function onState(host: LinkHost, session: Session, message: State): Promise<void> | undefined {
  return reportState(host, session, message)
}

/** Handles a requested report. If it contains several states, only the last one counts. */
export function onTelemetry(host: LinkHost, session: Session, { data }: Telemetry): Promise<void> | undefined {
  const [, last] = data?.state?.at(-1) ?? []
  return last === undefined ? host.report(reportOf(session)) : reportState(host, session, last)
}

function reportState(
  host: LinkHost,
  session: Session,
  { state, uuid: configVersion }: Pick<State, 'state' | 'uuid'>,
): Promise<void> | undefined {
  const telemetry = { ...session.scan, ...decodeState(state) }
  const { uptime_s: uptime, cpu_percent: cpu, memory_total: total, memory_free: free } = telemetry.unit
  const ip = addressOf(telemetry)
  // Reports that the device queued while it was offline are outdated: their uptime would look like a boot, and their
  // counters would give wrong rates.
  const isPresent = session.hasAnsweredTelemetry
  if (isPresent) session.scan = {}
  if (isPresent && uptime !== undefined) session.uptime = 'reported'
  return host.report(
    reportOf(session, {
      uptimeS: isPresent ? (uptime ?? null) : null,
      telemetry: isPresent ? telemetry : null,
      load: {
        ...(cpu !== undefined && { cpu_percent: cpu }),
        ...(total !== undefined && { memory_total: total }),
        ...(free !== undefined && { memory_free: free }),
        ...(ip !== undefined && { ip }),
        // After a move to a network without IPv4 the old address would lead to another device.
        ...(ip === undefined && isPresent && telemetry.interfaces.length > 0 && { ip: null }),
        ...(Number.isSafeInteger(configVersion) && { config_version: configVersion }),
      },
    }),
  )
}

/** Returns the device's first address, which is the uplink's, without the prefix length. */
function addressOf({ interfaces }: DeviceTelemetry): string | undefined {
  const first = interfaces.flatMap(({ ips }) => ips).find((ip) => ip.includes('.'))
  return first?.split('/')[0]
}
