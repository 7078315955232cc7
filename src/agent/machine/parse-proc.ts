import type { CpuTimes, InterfaceStat, MemoryStat } from '../../mxedges/sessions/machine.ts'

/** Ticks of a processor since the boot. */
export interface CpuTicks {
  readonly user: number
  readonly system: number
  readonly interrupt: number
  readonly idle: number
}

/** Parses /proc/stat: by `cpu`, `cpu0` and so on. */
export function parseCpuTicks(text: string): Map<string, CpuTicks> {
  const lines = text.split('\n').filter((line) => /^cpu[0-9]* /.test(line))
  return new Map(
    lines.map((line) => {
      const [name = '', ...fields] = line.split(/ +/)
      const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0] = fields.map(Number)
      return [name, { user: user + nice, system, interrupt: irq + softirq, idle: idle + iowait }]
    }),
  )
}

/** Returns the share of each sort of time between two readings, in percent; null if no time has passed. */
export function cpuTimesBetween(before: CpuTicks, after: CpuTicks): CpuTimes | null {
  const ticks = {
    user: after.user - before.user,
    system: after.system - before.system,
    interrupt: after.interrupt - before.interrupt,
    idle: after.idle - before.idle,
  }
  const total = ticks.user + ticks.system + ticks.interrupt + ticks.idle
  // The kernel's counter of idle time may go back a little.
  if (total <= 0 || Math.min(...Object.values(ticks)) < 0) return null
  const share = (part: number): number => Math.round((part / total) * 1000) / 10
  return {
    user: share(ticks.user),
    system: share(ticks.system),
    interrupt: share(ticks.interrupt),
    idle: share(ticks.idle),
  }
}

const memoryFields: readonly (readonly [keyof MemoryStat, string])[] = [
  ['total', 'MemTotal'],
  ['free', 'MemFree'],
  ['available', 'MemAvailable'],
  ['buffers', 'Buffers'],
  ['cached', 'Cached'],
  ['active', 'Active'],
  ['inactive', 'Inactive'],
  ['swap_cached', 'SwapCached'],
  ['swap_free', 'SwapFree'],
  ['swap_total', 'SwapTotal'],
]

/** Parses /proc/meminfo into bytes. */
export function parseMemory(text: string): MemoryStat {
  const kib = new Map([...text.matchAll(/^(\w+): +(\d+) kB$/gm)].map(([, name = '', value]) => [name, Number(value)]))
  return Object.fromEntries(
    memoryFields.flatMap(([name, field]) => {
      const value = kib.get(field)
      return value === undefined ? [] : [[name, value * 1024] as const]
    }),
  )
}

export type Traffic = Pick<InterfaceStat, 'rx_bytes' | 'rx_pkts' | 'rx_errors' | 'tx_bytes' | 'tx_pkts' | 'tx_errors'>

/** Parses /proc/net/dev: by the name of the interface. */
export function parseTraffic(text: string): Map<string, Traffic> {
  return new Map(
    [...text.matchAll(/^ *([^\s:]+): *(.*)$/gm)].map(([, name = '', counters = '']) => {
      const numbers = counters.trim().split(/ +/).map(Number)
      const [rxBytes = 0, rxPackets = 0, rxErrors = 0] = numbers
      const [txBytes = 0, txPackets = 0, txErrors = 0] = numbers.slice(8)
      const received = { rx_bytes: rxBytes, rx_pkts: rxPackets, rx_errors: rxErrors }
      return [name, { ...received, tx_bytes: txBytes, tx_pkts: txPackets, tx_errors: txErrors }]
    }),
  )
}

const hypervisors: readonly (readonly [RegExp, string])[] = [
  [/vmware/i, 'vmware'],
  [/virtualbox|innotek/i, 'virtualbox'],
  [/microsoft.*virtual|hyper-v/i, 'hyper-v'],
  [/xen/i, 'xen'],
  [/kvm|qemu|amazon ec2|google|openstack/i, 'kvm'],
]

/**
 * Detects the virtualization of the machine.
 * @param about Its maker and product from the firmware; the control group of the first process.
 * @returns Undefined for a physical machine, or if neither reveals it.
 */
export function findVirtualization(about: { readonly product: string; readonly cgroup: string }): string | undefined {
  const container = /docker|containerd|kubepods|lxc|libpod/.exec(about.cgroup)?.[0]
  if (container !== undefined) return container === 'libpod' ? 'podman' : container
  return hypervisors.find(([pattern]) => pattern.test(about.product))?.[1]
}
