import type { MetricsDevice } from './store-metrics.ts'

/** The version that most devices of a model run. */
export interface MajorVersion {
  readonly model: string
  readonly version: string
  /** How many run it. */
  readonly count: number
  /** The names of those that run another one; the MAC of a device without a name. */
  readonly others: readonly string[]
}

export interface Compliance {
  readonly versions: readonly MajorVersion[]
  /** The devices whose version is known. */
  readonly total: number
  /** The percentage of these that run the version of most devices of their model. */
  readonly score: number
}

/** Null where no device has reported its version. Of versions that equally many run, the greater one counts. */
export function planCompliance(devices: readonly MetricsDevice[]): Compliance | null {
  const known = devices.filter(({ firmware }) => firmware !== null)
  if (known.length === 0) return null
  const versions = [...Map.groupBy(known, ({ model }) => model)]
    .map(([model, some]) => majorVersionOf(model, some))
    .toSorted((a, b) => (a.model < b.model ? -1 : 1))
  const compliant = versions.reduce((sum, { count }) => sum + count, 0)
  return { versions, total: known.length, score: percentOf(compliant, known.length) }
}

function majorVersionOf(model: string, devices: readonly MetricsDevice[]): MajorVersion {
  const byVersion = [...Map.groupBy(devices, ({ firmware }) => firmware ?? '')]
  const [[version, some] = ['', []]] = byVersion.toSorted(
    ([a, ofA], [b, ofB]) => ofB.length - ofA.length || (a < b ? 1 : -1),
  )
  const others = devices.filter(({ firmware }) => firmware !== version).map(({ name, mac }) => name ?? mac)
  return { model, version, count: some.length, others }
}

export interface ActivePorts {
  readonly active: number
  readonly total: number
  /** The devices that have reported their ports. */
  readonly devices: number
  /** The percentage of the ports that have a link. */
  readonly score: number
}

/** Null where no device has reported its ports. */
export function planActivePorts(devices: readonly MetricsDevice[]): ActivePorts | null {
  const known = devices.filter(({ totalPorts }) => totalPorts !== null && totalPorts > 0)
  if (known.length === 0) return null
  const active = known.reduce((sum, { activePorts }) => sum + (activePorts ?? 0), 0)
  const total = known.reduce((sum, { totalPorts }) => sum + (totalPorts ?? 0), 0)
  return { active, total, devices: known.length, score: percentOf(active, total) }
}

function percentOf(part: number, whole: number): number {
  return Math.floor((part / whole) * 100)
}
