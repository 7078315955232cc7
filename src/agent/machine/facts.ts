import { readFile, statfs } from 'node:fs/promises'
import { cpus, freemem, networkInterfaces, totalmem, uptime } from 'node:os'
import type { Hello, Report } from '../../gateway/edge/messages.ts'
import type { Appliance } from '../appliance.ts'
import { createMachineStats } from './machine-stats.ts'

/** Facts that do not change while the machine runs. */
export type MachineFacts = Pick<Hello, 'boot_id' | 'model' | 'serial'>

export async function readMachineFacts(): Promise<MachineFacts> {
  const [bootId, model, serial] = await Promise.all(
    ['/proc/sys/kernel/random/boot_id', '/sys/class/dmi/id/product_name', '/sys/class/dmi/id/product_serial'].map(
      readText,
    ),
  )
  // On a machine without boot ids, the second of the boot identifies it.
  return {
    boot_id: bootId ?? `booted-${Math.round(Date.now() / 1000 - uptime())}`,
    model: model ?? null,
    serial: serial ?? null,
  }
}

/** Returns the codename of the distribution. */
export async function readDistro(): Promise<string | null> {
  const release = await readText('/etc/os-release')
  const [, distro = null] = /^VERSION_CODENAME="?([a-z0-9._-]+)"?$/m.exec(release ?? '') ?? []
  return distro
}

/** Returns null for a file that is missing, empty or private. */
async function readText(path: string): Promise<string | null> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text.trim().slice(0, 1000) || null
}

/** Returns a function that reports the machine's state and the services of the appliance. */
export function createReporter(folder: string, appliance: Appliance): () => Promise<Report> {
  const machine = createMachineReporter(folder)
  const machineStats = createMachineStats()
  return async () => {
    const [services, own, stats] = await Promise.all([appliance.services(), appliance.ownStats(), machineStats()])
    return {
      machine: { ...stats, ...(own !== null && { own }) },
      uptime_s: Math.round(uptime()),
      services: services.slice(0, 32),
      distro: await appliance.distro(),
      ...(await machine()),
    }
  }
}

type MachineReport = Pick<Report, 'cpu_percent' | 'memory' | 'disk' | 'addresses'>

/** Returns a function that reports the machine's state; the processor's share is that since the last report. */
export function createMachineReporter(folder: string): () => Promise<MachineReport> {
  let last = cpuTimes()
  return async () => {
    const now = cpuTimes()
    const total = now.total - last.total
    const busy = total <= 0 ? null : Math.min(100, Math.max(0, (1 - (now.idle - last.idle) / total) * 100))
    last = now
    return {
      cpu_percent: busy,
      memory: { total: totalmem(), free: freemem() },
      disk: await readDisk(folder),
      addresses: Object.values(networkInterfaces())
        .flatMap((all = []) => all)
        .filter(({ internal, family }) => !internal && family === 'IPv4')
        .map(({ address }) => address)
        .slice(0, 32),
    }
  }
}

async function readDisk(folder: string): Promise<Report['disk']> {
  const { bsize, blocks, bavail } = await statfs(folder)
  return { total: bsize * blocks, free: bsize * bavail }
}

function cpuTimes(): { readonly idle: number; readonly total: number } {
  const times = cpus().map((cpu) => cpu.times)
  const idle = times.reduce((sum, cpu) => sum + cpu.idle, 0)
  return { idle, total: times.reduce((sum, cpu) => sum + cpu.user + cpu.nice + cpu.sys + cpu.irq + cpu.idle, 0) }
}
