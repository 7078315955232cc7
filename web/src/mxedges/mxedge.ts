import type { Schemas } from '../api/client.ts'
import type { StateWords } from '../devices/device.ts'

export type Mxedge = Schemas['Mxedge']
export type MxedgeStats = Schemas['MxedgeStats']
export type MxedgeService = NonNullable<MxedgeStats['service_stat']>[string]

export const runningWords: Readonly<Record<MxedgeService['running_state'], StateWords>> = {
  running: { tone: 'good', text: 'Running' },
  stopped: { tone: 'idle', text: 'Stopped' },
  failed: { tone: 'bad', text: 'Failed' },
}

export function stateOf({ status, mxagent_registered: isRegistered }: MxedgeStats): StateWords {
  if (status === 'connected') return { tone: 'good', text: 'Connected' }
  return isRegistered ? { tone: 'bad', text: 'Disconnected' } : { tone: 'idle', text: 'Not registered' }
}

/** Returns the services of an appliance by their names, those that have failed first. */
export function servicesOf({
  service_stat: services = {},
}: MxedgeStats): readonly (readonly [string, MxedgeService])[] {
  return Object.entries(services)
    .filter(([, { package_state: state }]) => state === 'installed')
    .toSorted(
      ([a, one], [b, other]) =>
        Number(other.running_state === 'failed') - Number(one.running_state === 'failed') || a.localeCompare(b),
    )
}
