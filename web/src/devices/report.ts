/**
 * The reported data besides the declared fields of a device's statistics. It differs by type and model, and the
 * published document leaves it open, so every member is checked here: missing or malformed members are left out.
 */
export interface Report {
  readonly clients: number | null
  readonly cpuPercent: number | null
  readonly memory: { readonly usedKb: number; readonly totalKb: number } | null
  readonly uplink: { readonly system: string; readonly port: string | null } | null
  /** The step of a running upgrade; null if there is none. */
  readonly upgradeStep: string | null
  readonly radios: readonly Radio[]
  readonly ports: readonly Port[]
  readonly members: readonly Member[]
}

export interface Radio {
  readonly band: string
  readonly channel: number | null
  readonly widthMhz: number | null
  readonly powerDbm: number | null
  readonly noiseDbm: number | null
  readonly clients: number | null
}

export interface Port {
  readonly name: string
  readonly isUp: boolean
  readonly speedMbps: number | null
  readonly errorsIn: number | null
}

export interface Member {
  readonly index: number
  readonly model: string | null
  readonly serial: string | null
  readonly version: string | null
}

const bands = [
  ['band_24', '2.4 GHz'],
  ['band_5', '5 GHz'],
  ['band_6', '6 GHz'],
] as const

export function parseReport(stats: Readonly<Record<string, unknown>>): Report {
  const usedKb = numberOf(stats['mem_used_kb'])
  const totalKb = numberOf(stats['mem_total_kb'])
  const lldp = recordOf(stats['lldp_stat'])
  const system = textOf(lldp['system_name'])
  return {
    clients: numberOf(stats['num_clients']),
    cpuPercent: numberOf(stats['cpu_util']),
    memory: usedKb === null || totalKb === null || totalKb === 0 ? null : { usedKb, totalKb },
    uplink: system === null ? null : { system, port: textOf(lldp['port_id']) },
    upgradeStep: upgradeStepOf(stats['fwupdate']),
    radios: radiosOf(recordOf(stats['radio_stat'])),
    ports: Object.entries(recordOf(stats['port_stat'])).map(([name, port]) => portOf(name, recordOf(port))),
    members: [stats['module_stat'], stats['module2_stat']].flatMap((modules) =>
      listOf(modules).flatMap((member) => memberOf(recordOf(member))),
    ),
  }
}

/** The states of `fwupdate` in which something happens, in words. */
const steps = new Map([
  ['download_requested', 'Download requested'],
  ['downloading', 'Downloading'],
  ['downloaded', 'Firmware ready'],
  ['reboot_in_progress', 'Rebooting'],
  ['rebooted', 'Verifying'],
])

function upgradeStepOf(firmware: unknown): string | null {
  return steps.get(textOf(recordOf(firmware)['status']) ?? '') ?? null
}

function radiosOf(radios: Readonly<Record<string, unknown>>): readonly Radio[] {
  return bands.flatMap(([key, band]) => {
    if (radios[key] === undefined) return []
    const radio = recordOf(radios[key])
    return [
      {
        band,
        channel: numberOf(radio['channel']),
        widthMhz: numberOf(radio['bandwidth']),
        powerDbm: numberOf(radio['power']),
        noiseDbm: numberOf(radio['noise_floor']),
        clients: numberOf(radio['num_clients']),
      },
    ]
  })
}

function portOf(name: string, port: Readonly<Record<string, unknown>>): Port {
  return {
    name,
    isUp: port['up'] === true,
    speedMbps: numberOf(port['speed']),
    errorsIn: numberOf(port['rx_errors']),
  }
}

function memberOf(member: Readonly<Record<string, unknown>>): readonly Member[] {
  const index = numberOf(member['fpc_idx'])
  if (index === null) return []
  return [
    { index, model: textOf(member['model']), serial: textOf(member['serial']), version: textOf(member['version']) },
  ]
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
