import type { PlannedJunos } from '../fleet-plan.ts'
import type { Pace } from '../pace.ts'
import type { JunosConfig } from './junos-config.ts'
import { generateHostKey } from './host-key.ts'
import { createJunosDevice } from './junos-device.ts'
import { openJunosFile } from './saved-junos.ts'
import { type SimulatedJunos, pause, startSimulatedJunos } from './simulated-junos.ts'

export interface JunosFleetOptions {
  readonly devices: readonly PlannedJunos[]
  readonly config: JunosConfig
  readonly pace: Pick<Pace, 'bootMs' | 'flashMs' | 'timeScale' | 'downloadBytesPerS'>
  /** The folder that stores the devices between runs of the simulator; null stores nothing. */
  readonly stateDir: string | null
  /** The CAs that the devices trust for downloads, PEM; null: the public ones. */
  readonly downloadCa: string | null
  /** Called at the first request to a device: it is connected. */
  readonly onReady: (mac: string) => void
}

export interface JunosFleet {
  stop(): Promise<void>
}

/** `reconnect-strategy` and `retry` of the configuration make real devices wait as long. */
const RETRY_MS = 5000
/** A cleanup, a download and a package for each of up to ten members: together they take as long as one flash. */
const WORKS_PER_FLASH = 12

/** Starts Junos devices, which call home until they are stopped. */
export function startJunosFleet(options: JunosFleetOptions): JunosFleet {
  const running = options.devices.map((planned) => startDevice(planned, options))
  return {
    stop: async () => void (await Promise.all(running.map((device) => device.stop()))),
  }
}

function startDevice(planned: PlannedJunos, options: JunosFleetOptions): SimulatedJunos {
  const { config, pace, stateDir, downloadCa, onReady } = options
  const { deviceId, secret, ...place } = config
  const now = (): number => Date.now()
  const file = openJunosFile(stateDir, planned.mac)
  const hostKey = file.hostKey ?? generateHostKey().private
  const members = planned.members ?? []
  const device = createJunosDevice({
    mac: planned.mac,
    model: planned.model.toLowerCase(),
    form: planned.cluster === true ? 'cluster' : members.length > 1 ? 'virtual_chassis' : 'single',
    serials: members.length > 0 ? members.map(({ serial }) => serial) : [planned.serial],
    version: planned.firmware,
    backup: planned.backup ?? null,
    nowMs: now(),
  })
  file.restore(device)
  file.save(device, hostKey)
  let isReady = false
  return startSimulatedJunos({
    ...place,
    device,
    hostKey,
    outboundSsh: { deviceId, secret },
    bootMs: pace.bootMs * pace.timeScale,
    retryMs: RETRY_MS * pace.timeScale,
    waitMinutes: (minutes, signal) => pause(minutes * 60_000 * pace.timeScale, signal),
    workMs: (pace.flashMs * pace.timeScale) / WORKS_PER_FLASH,
    bytesPerS: pace.downloadBytesPerS,
    downloadCa,
    now,
    onRequest() {
      if (!isReady) onReady(planned.mac)
      isReady = true
    },
    onChange: () => file.save(device, hostKey),
  })
}
