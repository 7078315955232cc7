/**
 * The hardware that a device reports, in the same terms for every protocol. A driver leaves out what the device does
 * not report. It is stored as a document, so its members are named as on the wire.
 */
export interface Hardware {
  readonly unit: HardwareUnit
  /** The members of a Virtual Chassis, ascending; empty for a device without one. */
  readonly members: readonly MemberHardware[]
}

/** Drivers truncate what exceeds these limits, so that a device can't fill the database or an answer. */
export const hardwareLimits = {
  members: 10,
  psus: 8,
  fans: 16,
  temperatures: 32,
  pics: 8,
  links: 16,
  /** Characters of a name, a version or a state. */
  name: 64,
} as const

/** The device as a whole. */
export interface HardwareUnit {
  /** The name that the device has in its own configuration. */
  readonly hostname?: string
  /** Twelve lower-case hex digits. */
  readonly chassis_mac?: string
  readonly chassis_serial?: string
  readonly hw_rev?: string
  /** The number by which it is ordered. */
  readonly sku?: string
  readonly config_type?: 'preprovisioned' | 'nonprovisioned'
  readonly num_routing_engines?: number
}

export interface MemberHardware {
  readonly fpc_idx: number
  readonly type?: string
  readonly vc_role?: 'master' | 'backup' | 'linecard'
  readonly vc_state?: 'present' | 'not-present'
  /** Epoch seconds: the last time the device reported the member as present. */
  readonly last_seen?: number
  /** Seconds at `last_seen`. */
  readonly uptime?: number
  readonly backup_version?: string
  readonly pending_version?: string
  readonly bios_version?: string
  readonly cpld_version?: string
  readonly fpga_version?: string
  readonly poe_version?: string
  readonly uboot_version?: string
  readonly cpu_stat?: CpuStat
  readonly poe?: { readonly max_power?: number; readonly power_draw?: number }
  readonly psus?: HardwarePart[]
  readonly fans?: (HardwarePart & { readonly airflow?: string })[]
  readonly temperatures?: (HardwarePart & { readonly celsius?: number })[]
  readonly pics?: Pic[]
  readonly vc_links?: VcLink[]
}

export interface HardwarePart {
  readonly name: string
  /** In lower case. */
  readonly status: string
}

/** Percent of the time, and the averages over 1, 5 and 15 minutes. */
export interface CpuStat {
  readonly user?: number
  readonly system?: number
  readonly interrupt?: number
  readonly idle?: number
  readonly load_avg?: number[]
}

/** A group of ports of a member. */
export interface Pic {
  readonly index: number
  readonly model_number?: string
  readonly port_groups?: { readonly count: number; readonly type: string }[]
}

/** A cable between two members. */
export interface VcLink {
  readonly port_id: string
  readonly neighbor_module_idx: number
  /** Absent if several cables connect the two members, because a device names only its own ends. */
  readonly neighbor_port_id?: string
}

/** Adds to the reported hardware the time at which each absent member was last present. */
export function withLastSeen(hardware: Hardware, before: Hardware | null, atS: number): Hardware {
  const known = new Map(before?.members.map((member) => [member.fpc_idx, member.last_seen]))
  const members = hardware.members.map((member) => {
    const seen = member.vc_state === 'present' ? atS : known.get(member.fpc_idx)
    return seen === undefined ? member : { ...member, last_seen: seen }
  })
  return { ...hardware, members }
}
