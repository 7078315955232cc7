/** One chassis of a simulated Junos device: a member of a Virtual Chassis, a node of a cluster, or the whole device. */
export interface Chassis {
  readonly serial: string
  active: string
  /** The version of the next boot, if it differs. */
  pending: string | null
  /** The version that a rollback boots. */
  backup: string | null
  isPresent: boolean
  bootedAtMs: number
}

export type JunosForm = 'single' | 'virtual_chassis' | 'cluster'

/**
 * A fault of a simulated device. `never_returns`: it does not boot after a reboot, and no chassis does; `old_version`:
 * an installed version never boots; `partial_chassis`: the last member does not boot; `bad_image`: it stores another
 * file than it downloaded; `install_fails`: it refuses packages on its last member; `install_unexplained`: the same, and
 * only its package status says why; `no_status`: its release has no package status; `silent_reboot`: it reboots without a
 * reply; `snapshot_fails`: its last member has no space for a recovery snapshot.
 */
export type JunosFault =
  | 'never_returns'
  | 'old_version'
  | 'partial_chassis'
  | 'bad_image'
  | 'install_fails'
  | 'install_unexplained'
  | 'no_status'
  | 'silent_reboot'
  | 'snapshot_fails'

/** A simulated device: its persistent state, and the time of its boot. */
export interface JunosDevice {
  /** Twelve lower-case hex digits. */
  readonly mac: string
  /** As the device writes it, such as `ex4100-48p`. */
  readonly model: string
  readonly hostName: string
  readonly form: JunosForm
  readonly chassis: readonly Chassis[]
  /** SHA-256 of the files, by their path. */
  readonly files: Map<string, string>
  /** The version in an image, by its SHA-256. */
  readonly versions: Map<string, string>
  readonly faults: ReadonlySet<JunosFault>
  /** What it says about the last installation; empty before the first one. */
  packageStatus: string
  /** Master of the Virtual Chassis. */
  master: number
  /** The chassis that are about to boot, by their index. */
  booting: readonly number[]
  /** The requests that the device has executed, oldest first. */
  readonly journal: string[]
}

export interface JunosDeviceOptions {
  readonly mac: string
  readonly model: string
  readonly form?: JunosForm
  /** The serial numbers of the chassis, one for each. If absent, the form decides. */
  readonly serials?: readonly string[]
  readonly version?: string
  readonly backup?: string | null
  readonly faults?: readonly JunosFault[]
  readonly nowMs: number
}

const sizes = { single: 1, cluster: 2, virtual_chassis: 3 } as const satisfies Record<JunosForm, number>

export function createJunosDevice(options: JunosDeviceOptions): JunosDevice {
  const {
    mac,
    model,
    form = 'single',
    serials,
    version = '22.4R3.25',
    backup = '21.4R3.15',
    faults = [],
    nowMs,
  } = options
  return {
    mac,
    model,
    hostName: `sim-${mac}`,
    form,
    chassis: (serials ?? serialsOf(mac, sizes[form])).map((serial) => ({
      serial,
      active: version,
      pending: null,
      backup,
      isPresent: true,
      bootedAtMs: nowMs - 86_400_000,
    })),
    files: new Map(),
    versions: new Map(),
    faults: new Set(faults),
    packageStatus: '',
    master: 0,
    booting: [],
    journal: [],
  }
}

function serialsOf(mac: string, length: number): string[] {
  return Array.from({ length }, (_, index) => `SN${mac.slice(4).toUpperCase()}${index}`)
}

/** Boots some chassis: the pending version becomes active. */
export function bootChassis(device: JunosDevice, indexes: readonly number[], nowMs: number): void {
  const isPartial = device.faults.has('partial_chassis')
  for (const index of indexes) {
    const chassis = device.chassis[index]
    if (chassis === undefined) continue
    if (isPartial && index === device.chassis.length - 1) {
      chassis.isPresent = false
      continue
    }
    if (chassis.pending !== null && !device.faults.has('old_version')) {
      chassis.backup = chassis.active
      chassis.active = chassis.pending
    }
    chassis.pending = null
    chassis.isPresent = true
    chassis.bootedAtMs = nowMs
  }
  device.booting = device.booting.filter((index) => !indexes.includes(index))
}
