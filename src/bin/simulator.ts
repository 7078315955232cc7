import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command, InvalidArgumentError, Option } from 'commander'
import { parseConfig } from '../app/config/config.ts'
import { openDeviceCa } from '../gateway/certificates/device-ca.ts'
import { AppError } from '../platform/errors.ts'
import { createLog, type LogLevel } from '../platform/log.ts'
import { type FaultPlan, type FaultTargets, checkFaults, parseFaultTargets, parseMac } from '../simulator/faults.ts'
import { type FleetPlan, generateFleet, parseFleet } from '../simulator/fleet-plan.ts'
import { type Fleet, startFleet } from '../simulator/fleet.ts'
import { type JunosConfig, parseJunosConfig } from '../simulator/junos/junos-config.ts'
import { type JunosFleet, startJunosFleet } from '../simulator/junos/junos-fleet.ts'
import { realPace } from '../simulator/pace.ts'

interface Flags {
  readonly gateway: { readonly host: string; readonly port: number }
  readonly ca: string
  readonly fleet?: string
  readonly junosConfig?: string
  readonly netconf?: Flags['gateway']
  readonly count: number
  readonly type: 'ap' | 'switch'
  readonly model?: string
  readonly firmware: string
  readonly members: number
  readonly firstMac: string
  readonly bootMs: number
  readonly flashMs: number
  readonly stateIntervalMs: number
  readonly downloadBytesPerS: number
  readonly timeScale: number
  readonly startsPerS: number
  readonly refuse?: FaultTargets
  readonly failDownload?: FaultTargets
  readonly failUpload?: FaultTargets
  readonly neverReturn?: FaultTargets
  readonly oldVersion?: FaultTargets
  readonly flap?: FaultTargets
  readonly slow?: FaultTargets
  readonly unhealthy?: FaultTargets
  readonly unstable?: FaultTargets
  readonly losePower?: FaultTargets
  readonly loseRestore?: FaultTargets
  readonly report?: string
  readonly stateDir?: string
  readonly logLevel: LogLevel
}

const notes = `
WHO is a share of all devices (10%) or MACs with commas between. Junos devices have no faults.

An access point downloads first and then answers an upgrade, a switch answers at once and reports
by events. The version of an image is what its first line says,
  SIGNALBOX-FIRMWARE model=MODEL[,MODEL...] version=VERSION
else its file name without extension, else the first 12 digits of its SHA-256.

Prints "simulator ready N devices" when each device has connected once.`

/** The gateway of the server that is started with the same settings. Port 0 stands for one that --gateway must name. */
function defaultGateway(): Flags['gateway'] {
  const { ucentralPort } = parseConfig({ SIGNALBOX_UCENTRAL_PORT: process.env['SIGNALBOX_UCENTRAL_PORT'] })
  return { host: '127.0.0.1', port: ucentralPort }
}

function commandLine(): Command {
  const command = new Command('simulate')
    .description('Simulated access points, switches and gateways that speak to a gateway as real ones do.')
    .addHelpText('after', notes)
  const outputs = [
    new Option(
      '--report <file>',
      'append each change of a device to this file, as JSON lines with counts of boots, flashes and downloads',
    ),
    new Option('--state-dir <dir>', 'keep the devices in this folder, so that they live on at the next start'),
    new Option('--log-level <level>').choices(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('warn'),
  ]
  for (const one of [...gatewayOptions(), ...deviceOptions(), ...paceOptions(), ...faultOptions(), ...outputs])
    command.addOption(one)
  return command
}

function gatewayOptions(): Option[] {
  const gateway = defaultGateway()
  return [
    option('--gateway <host:port>', 'gateway to connect to', parseAddress).default(
      gateway,
      `${gateway.host}:${gateway.port}, the port of SIGNALBOX_UCENTRAL_PORT`,
    ),
    new Option('--ca <dir>', 'folder with ca.pem and ca.key, which sign device certificates').default(
      join(process.env['SIGNALBOX_DATA_DIR'] ?? 'data', 'device-ca'),
    ),
  ]
}

function deviceOptions(): Option[] {
  return [
    new Option(
      '--fleet <file>',
      'devices, a JSON array of {mac, serial, model, type: ap|switch, firmware, members?: [{mac, serial, model}], cluster?, methods?: [stage|activate|restore_backup|snapshot]}; with protocol: "junos" and type: switch|gateway, a device that calls home over NETCONF',
    ),
    new Option(
      '--junos-config <file>',
      'the answer of GET /orgs/{org_id}/ocdevices/outbound_ssh_cmd, or its commands, for Junos devices',
    ),
    option('--netconf <host:port>', '  where they call home, if not as the commands say', parseAddress),
    option('--count <n>', 'without a file: number of devices that are all alike', wholeFrom(1))
      .default(10)
      .conflicts('fleet'),
    new Option('--type <type>', '  their type').choices(['ap', 'switch']).default('ap'),
    new Option('--model <name>', '  their model (default: "EAP101" or "ECS4150-28P")'),
    new Option('--firmware <version>', '  the version that they come with').default('1.0.0'),
    option('--members <n>', '  members of the Virtual Chassis that each of them is', wholeFrom(0)).default(0),
    option('--first-mac <mac>', '  MAC of the first, the others count up', parseMacFlag).default('020000000001'),
  ]
}

function paceOptions(): Option[] {
  return [
    option('--boot-ms <ms>', 'time of a boot', wholeFrom(0)).default(realPace.bootMs),
    option('--flash-ms <ms>', 'time to write an image to flash', wholeFrom(0)).default(realPace.flashMs),
    option(
      '--state-interval-ms <ms>',
      'time between reports of devices that are configured to send them; 0: they report what the gateway asks for',
      wholeFrom(0),
    ).default(realPace.stateIntervalMs),
    option('--download-bytes-per-s <n>', 'speed of a download, 0 = unlimited', wholeFrom(0)).default(
      realPace.downloadBytesPerS,
    ),
    option(
      '--time-scale <factor>',
      'factor on boot, flash, and the times that real clients have built in: reconnecting, pauses around a reboot',
      parseFactor,
    ).default(realPace.timeScale),
    option('--starts-per-s <n>', 'devices switched on per second', wholeFrom(1)).default(realPace.startsPerS),
  ]
}

function faultOptions(): Option[] {
  const faults = [
    ['--refuse', 'refuse reboots and upgrades'],
    ['--fail-download', 'break off downloads'],
    ['--fail-upload', 'upload nothing'],
    ['--never-return', 'stay away after a reboot'],
    ['--old-version', 'come back from an upgrade with the old version'],
    ['--flap', 'lose the connection three times after each boot'],
    ['--slow', 'take ten times as long'],
    [
      '--unhealthy',
      'come back from an upgrade without a radio or, switches, without their neighbor, until they restore their backup version',
    ],
    ['--unstable', 'lose each connection after an upgrade, until they restore their backup version'],
    ['--lose-power', 'lose power while they restore their backup version, and come back with the present one'],
    [
      '--lose-restore',
      'lose the connection with the first request to restore their backup version, which has no effect',
    ],
  ] as const
  return faults.map(([name, description]) => option(`${name} <who>`, description, parseFaultTargets))
}

/** Adds an option; a bad value ends the program with a line that gives the reason. */
function option(flags: string, description: string, parse: (text: string) => unknown): Option {
  return new Option(flags, description).argParser((text) => {
    try {
      return parse(text)
    } catch (error) {
      if (error instanceof AppError) throw new InvalidArgumentError(error.message)
      throw error
    }
  })
}

function wholeFrom(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value
    throw new InvalidArgumentError(`It is to be a whole number from ${least}.`)
  }
}

function parseFactor(text: string): number {
  const value = Number(text)
  if (Number.isFinite(value) && value > 0) return value
  throw new InvalidArgumentError('It is to be a number above 0.')
}

function parseMacFlag(text: string): string {
  return parseMac(text)
}

function parseAddress(text: string): Flags['gateway'] {
  const [, host, port] = /^(?:\[?([^\]]+?)\]?):(\d+)$/.exec(text) ?? []
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535)
    throw new InvalidArgumentError('It is to be HOST:PORT.')
  return { host, port: Number(port) }
}

function faultsOf(flags: Flags): FaultPlan {
  return {
    ...(flags.refuse && { refuse: flags.refuse }),
    ...(flags.failDownload && { fail_download: flags.failDownload }),
    ...(flags.failUpload && { fail_upload: flags.failUpload }),
    ...(flags.neverReturn && { never_return: flags.neverReturn }),
    ...(flags.oldVersion && { old_version: flags.oldVersion }),
    ...(flags.flap && { flap: flags.flap }),
    ...(flags.slow && { slow: flags.slow }),
    ...(flags.unhealthy && { unhealthy: flags.unhealthy }),
    ...(flags.unstable && { unstable: flags.unstable }),
    ...(flags.losePower && { lose_power: flags.losePower }),
    ...(flags.loseRestore && { lose_restore: flags.loseRestore }),
  }
}

async function planOf(flags: Flags): Promise<FleetPlan> {
  if (flags.fleet !== undefined) return parseFleet(await readFile(flags.fleet, 'utf8'))
  const model = flags.model ?? (flags.type === 'ap' ? 'EAP101' : 'ECS4150-28P')
  return { devices: generateFleet({ ...flags, model }), junos: [] }
}

async function junosConfigOf({ junosConfig, netconf }: Flags): Promise<JunosConfig> {
  if (junosConfig === undefined) throw new AppError('invalid', 'Junos devices need --junos-config')
  return { ...parseJunosConfig(await readFile(junosConfig, 'utf8')), ...netconf }
}

async function run(flags: Flags): Promise<void> {
  if (flags.gateway.port === 0)
    throw new AppError('invalid', 'SIGNALBOX_UCENTRAL_PORT is 0, so --gateway must name the port that the server chose')
  const { devices, junos } = await planOf(flags)
  const faults = faultsOf(flags)
  checkFaults(
    faults,
    devices.map(({ mac }) => mac),
  )
  let fleet: Fleet | null = null
  let junosFleet: JunosFleet | null = null
  const stop = (): void => void Promise.all([fleet?.stop(), junosFleet?.stop()]).then(() => process.exit(0))
  const onReady = announceWhenReady(devices.length + junos.length)
  // Not `once`: Ctrl-C arrives from the terminal and from the runner.
  process.on('SIGINT', stop).on('SIGTERM', stop)
  const ca = await openDeviceCa(flags.ca)
  if (junos.length > 0)
    junosFleet = startJunosFleet({
      devices: junos,
      config: await junosConfigOf(flags),
      pace: flags,
      stateDir: flags.stateDir ?? null,
      downloadCa: ca.certificatePem,
      onReady,
    })
  fleet = await startFleet({
    gateway: flags.gateway,
    ca,
    devices,
    log: createLog(flags.logLevel),
    faults,
    pace: flags,
    ...(flags.report !== undefined && { report: flags.report }),
    ...(flags.stateDir !== undefined && { stateDir: flags.stateDir }),
    onChange(device, change) {
      if (change === 'connected' && device.connections === 1) onReady()
    },
  })
}

/** Counts devices that have connected for the first time instead of asking all of them at each change. */
function announceWhenReady(total: number): () => void {
  let connected = 0
  return () => {
    connected += 1
    if (connected === total) process.stdout.write(`simulator ready ${total} devices\n`)
  }
}

// A fleet must not outlive the server that started it.
process.once('disconnect', () => process.exit(0))

try {
  await run(commandLine().parse().opts<Flags>())
} catch (error) {
  if (!(error instanceof AppError) && !(error instanceof Error && 'code' in error)) throw error
  process.stderr.write(`simulate: ${error.message}\n`)
  process.exit(1)
}
