import { readFile, readdir } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { type CpuTimes, type InterfaceStat, type MachineStats, machineBounds } from '../../mxedges/sessions/machine.ts'
import {
  type CpuTicks,
  cpuTimesBetween,
  findVirtualization,
  parseCpuTicks,
  parseMemory,
  parseTraffic,
} from './parse-proc.ts'

/**
 * Returns a function that reads Linux's statistics of the machine. A system without /proc and /sys yields none.
 * @param root The folder with /proc and /sys.
 */
export function createMachineStats(root = '/'): () => Promise<Omit<MachineStats, 'own'>> {
  let last: ReadonlyMap<string, CpuTicks> = new Map()
  return async () => {
    const [cpu, memory, virtualization, interfaces] = await Promise.all([
      readText(root, 'proc/stat'),
      readText(root, 'proc/meminfo'),
      readVirtualization(root),
      readInterfaces(root),
    ])
    const ticks = parseCpuTicks(cpu)
    const times = cpuSince(last, ticks)
    last = ticks
    return {
      ...(times !== null && { cpu: times }),
      ...(memory !== '' && { memory: parseMemory(memory) }),
      ...(virtualization !== undefined && { virtualization }),
      ...interfaces,
    }
  }
}

function cpuSince(
  before: ReadonlyMap<string, CpuTicks>,
  after: ReadonlyMap<string, CpuTicks>,
): NonNullable<MachineStats['cpu']> | null {
  const times = [...after].flatMap(([name, ticks]): [string, CpuTimes][] => {
    const former = before.get(name)
    const share = former === undefined ? null : cpuTimesBetween(former, ticks)
    return share === null ? [] : [[name, share]]
  })
  const all = times.find(([name]) => name === 'cpu')
  if (all === undefined) return null
  return { ...all[1], cpus: Object.fromEntries(times.filter((each) => each !== all).slice(0, machineBounds.cpus)) }
}

async function readVirtualization(root: string): Promise<string | undefined> {
  const [vendor, product, hypervisor, cgroup] = await Promise.all(
    ['sys/class/dmi/id/sys_vendor', 'sys/class/dmi/id/product_name', 'sys/hypervisor/type', 'proc/1/cgroup'].map(
      (path) => readText(root, path),
    ),
  )
  return findVirtualization({ product: `${vendor} ${product} ${hypervisor}`, cgroup: cgroup ?? '' })
}

/** If a machine has more interfaces than the limit, the first ones by name are reported. */
async function readInterfaces(root: string): Promise<Pick<MachineStats, 'interfaces' | 'lags'>> {
  const folder = join(root, 'sys/class/net')
  const known = await readdir(folder).catch(() => [])
  const names = known.filter((name) => name !== 'lo').toSorted()
  if (names.length === 0) return {}
  const traffic = parseTraffic(await readText(root, 'proc/net/dev'))
  const addresses = root === '/' ? networkInterfaces() : {}
  const stats = await Promise.all(
    names.slice(0, machineBounds.interfaces).map(async (name) => {
      const device = await readDevice(join(folder, name))
      return [name, { ...device, ...addressesOf(addresses[name]), ...traffic.get(name) }] as const
    }),
  )
  const interfaces = Object.fromEntries<InterfaceStat>(stats)
  const lags = await readLags(folder, names)
  return { interfaces, ...(Object.keys(lags).length > 0 && { lags }) }
}

async function readDevice(folder: string): Promise<InterfaceStat> {
  const [state, speed, duplex, mac] = await Promise.all(
    ['operstate', 'speed', 'duplex', 'address'].map((name) => readText(folder, name)),
  )
  return {
    up: state === 'up',
    ...(state !== '' && state !== undefined && { state }),
    ...(mac !== '' && mac !== undefined && { mac: mac.replaceAll(':', '') }),
    // A port that is down has the speed -1.
    ...(/^[1-9][0-9]{0,8}$/.test(speed ?? '') && { speed: Number(speed) }),
    ...((duplex === 'full' || duplex === 'half') && { full_duplex: duplex === 'full' }),
  }
}

function addressesOf(all: ReturnType<typeof networkInterfaces>[string] = []) {
  const v4 = all.find(({ family }) => family === 'IPv4')
  const v6 =
    all.find(({ family, scopeid }) => family === 'IPv6' && scopeid === 0) ?? all.find(({ family }) => family === 'IPv6')
  return {
    ...(v4 !== undefined && { ip: v4.address, netmask: v4.netmask }),
    ...(v6 !== undefined && { ip6: v6.address, netmask6: v6.netmask }),
  }
}

/** A LAG is a bond of the kernel. */
async function readLags(folder: string, names: readonly string[]): Promise<Record<string, string[]>> {
  const lags: Record<string, string[]> = {}
  for (const name of names.slice(0, machineBounds.interfaces)) {
    const slaves = await readText(join(folder, name), 'bonding/slaves')
    if (slaves === '' || Object.keys(lags).length >= machineBounds.lags) continue
    const ports = slaves.split(/\s+/).slice(0, machineBounds.interfaces)
    const states = await Promise.all(ports.map((port) => readText(join(folder, port), 'operstate')))
    lags[name] = ports.filter((_, index) => states[index] === 'up')
  }
  return lags
}

/** Returns '' for a file that is missing or that can't be read. */
async function readText(folder: string, name: string): Promise<string> {
  return readFile(join(folder, name), 'utf8').then(
    (text) => text.trim(),
    () => '',
  )
}
