import { type XmlElement, childOf, encodeXml } from '../../gateway/netconf/xml.ts'
import { hardwareAnswers, neighborsOf } from './answer-hardware.ts'
import type { Chassis, JunosDevice } from './junos-device.ts'
import { messageOf } from '../../platform/message-of.ts'

/** A device's reaction to a request. */
export interface RpcAnswer {
  /** XML inside the reply; null: the device breaks the connection instead. */
  readonly body: string | null
  /** The chassis that boot after the reply. */
  readonly boots: readonly number[]
  /** The time between the reply and the boots, in minutes. */
  readonly inMinutes: number
}

export interface RpcOptions {
  readonly nowMs: number
  /** Downloads a file. @returns Its SHA-256, and the version that it contains. @throws Error with a reason. */
  readonly download: (uri: string) => Promise<{ readonly sha256: string; readonly version: string }>
}

type Answerer = (device: JunosDevice, rpc: XmlElement, options: RpcOptions) => RpcAnswer | Promise<RpcAnswer>

/** Answers a request in the shapes that Juniper's YANG modules and published examples of replies show. */
export async function answerRpc(device: JunosDevice, rpc: XmlElement, options: RpcOptions): Promise<RpcAnswer> {
  const hardware = hardwareAnswers[rpc.name]
  if (hardware !== undefined) return say(hardware(device))
  const answer = answers[rpc.name]
  if (answer === undefined) return say(rpcError(`syntax error, expecting <command>: ${rpc.name}`))
  return answer(device, rpc, options)
}

export function rpcError(message: string): string {
  return encodeXml('rpc-error', {
    'error-type': 'protocol',
    'error-tag': 'operation-failed',
    'error-severity': 'error',
    'error-message': message,
  })
}

/** A device's answer to a package while it installs another one. No recording of a real device shows the exact text. */
export const busyAnswer = `${encodeXml('output', 'ERROR: another package installation is in progress')}<package-result>1</package-result>`

const answers: Readonly<Record<string, Answerer>> = {
  'get-system-information': (device) =>
    say(
      device.form === 'cluster'
        ? perEngine(device, (chassis) => systemInformation(device, chassis))
        : systemInformation(device, masterOf(device)),
    ),
  'get-chassis-mac-addresses': (device) => say(macAddresses(device)),
  'get-virtual-chassis-information': (device) =>
    say(device.form === 'cluster' ? rpcError('syntax error') : virtualChassis(device)),
  'get-system-uptime-information': (device, _, { nowMs }) =>
    say(device.form === 'single' ? uptime(masterOf(device), nowMs) : perEngine(device, (each) => uptime(each, nowMs))),
  'get-software-sets-information': (device, rpc) => {
    if (device.form === 'cluster') return say(rpcError('syntax error'))
    const isAboutAll = childOf(rpc, 'all-members') !== undefined
    if (device.form === 'single') return say(isAboutAll ? rpcError('syntax error') : softwareSet(masterOf(device)))
    return say(perEngine(device, softwareSet))
  },
  'get-sha256-checksum-information': checksum,
  'request-system-storage-cleanup': (device) => {
    device.files.clear()
    return say(encodeXml('system-storage-cleanup-information', true))
  },
  'file-copy': copyFile,
  'request-package-add': addPackage,
  'request-package-latest-status': ({ faults, packageStatus }) =>
    say(
      faults.has('no_status')
        ? rpcError('syntax error, expecting <command>: request-package-latest-status')
        : encodeXml('package-status', { 'package-status-message': packageStatus }),
    ),
  'request-package-in-service-upgrade': upgradeCluster,
  'request-package-rollback': rollBack,
  'request-snapshot': (device) => {
    device.journal.push('snapshot')
    return say(
      device.form === 'single'
        ? snapshot(device, masterOf(device))
        : perEngine(device, (each) => snapshot(device, each)),
    )
  },
  'request-reboot': reboot,
}

function snapshot({ faults, chassis }: JunosDevice, own: Chassis): string {
  const fails = faults.has('snapshot_fails') && own === chassis.at(-1)
  return encodeXml(
    'output',
    fails ? 'ERROR: Not enough space for the snapshot' : 'NOTICE: Snapshot completed successfully',
  )
}

function say(body: string | null, boots: readonly number[] = [], inMinutes = 0): RpcAnswer {
  return { body, boots, inMinutes }
}

function masterOf(device: JunosDevice): Chassis {
  const chassis = device.chassis[device.master]
  if (chassis === undefined) throw new Error('a simulated device has no master')
  return chassis
}

/** Combines the answers of the routing engines. Absent members have none. */
function perEngine(device: JunosDevice, bodyOf: (chassis: Chassis) => string): string {
  const items = device.chassis.flatMap((chassis, index) => {
    if (!chassis.isPresent) return []
    const name = device.form === 'cluster' ? `node${index}` : `fpc${index}`
    return [`<multi-routing-engine-item>${encodeXml('re-name', name)}${bodyOf(chassis)}</multi-routing-engine-item>`]
  })
  return `<multi-routing-engine-results>${items.join('')}</multi-routing-engine-results>`
}

function systemInformation({ model, hostName }: JunosDevice, { active, serial }: Chassis): string {
  return encodeXml('system-information', {
    'hardware-model': model,
    'os-name': 'junos',
    'os-version': active,
    'serial-number': serial,
    'host-name': hostName,
  })
}

function macAddresses({ mac }: JunosDevice): string {
  const address = mac.match(/../g)?.join(':') ?? ''
  return encodeXml('chassis-mac-addresses', {
    'mac-address-information': { 'public-base-address': address, 'public-count': 192 },
  })
}

function virtualChassis(device: JunosDevice): string {
  const members = device.chassis.map(({ serial, isPresent }, index) => {
    const member = encodeXml('member', {
      'member-status': isPresent ? 'Prsnt' : 'NotPrsnt',
      'member-id': index,
      'fpc-slot': `(FPC ${index})`,
      'member-serial-number': serial,
      'member-model': device.model,
      'member-priority': 129,
      'member-mixed-mode': 'N',
      'member-route-mode': 'VC',
      'member-role': index === device.master ? 'Master*' : index === 1 ? 'Backup' : 'Linecard',
    })
    return isPresent ? member.replace('</member>', `${neighborsOf(device, index)}</member>`) : member
  })
  const id = encodeXml('virtual-chassis-id-information', { 'virtual-chassis-mode': 'Enabled' })
  return `<virtual-chassis-information>${id}<member-list junos:style="single-slot">${members.join('')}</member-list></virtual-chassis-information>`
}

function uptime({ bootedAtMs }: Chassis, nowMs: number): string {
  const seconds = Math.floor((nowMs - bootedAtMs) / 1000)
  const date = (ms: number): string =>
    `<date-time junos:seconds="${Math.floor(ms / 1000)}">${new Date(ms).toISOString()}</date-time>`
  return `<system-uptime-information><current-time>${date(nowMs)}</current-time><system-booted-time>${date(bootedAtMs)}<time-length junos:seconds="${seconds}">up</time-length></system-booted-time></system-uptime-information>`
}

function softwareSet({ active, pending, backup }: Chassis): string {
  return encodeXml('software-sets-information', {
    'active-set-version': active,
    'pending-set-version': pending ?? '',
    'software-rollback-target': backup ?? '',
  })
}

function checksum(device: JunosDevice, rpc: XmlElement): RpcAnswer {
  const path = childOf(rpc, 'path')?.text ?? ''
  const sha256 = device.files.get(path)
  if (sha256 === undefined) return say(rpcError(`sha-256: ${path}: No such file or directory`))
  const file = { 'computation-method': 'SHA256', 'input-file': path, checksum: sha256 }
  return say(encodeXml('checksum-information', { 'file-checksum': file }))
}

async function copyFile(device: JunosDevice, rpc: XmlElement, { download }: RpcOptions): Promise<RpcAnswer> {
  const source = childOf(rpc, 'source')?.text ?? ''
  const destination = childOf(rpc, 'destination')?.text ?? ''
  try {
    const { sha256, version } = await download(source)
    device.journal.push('file-copy')
    device.versions.set(sha256, version)
    device.files.set(destination, device.faults.has('bad_image') ? sha256.split('').toReversed().join('') : sha256)
    return say('<ok/>')
  } catch (error) {
    return say(rpcError(`fetch-secure: ${messageOf(error)}`))
  }
}

function addPackage(device: JunosDevice, rpc: XmlElement): RpcAnswer {
  const path = childOf(rpc, 'package-name')?.text ?? ''
  const member = childOf(rpc, 'member')?.text
  const sha256 = device.files.get(path)
  const version = sha256 === undefined ? undefined : device.versions.get(sha256)
  const index = member === undefined ? device.master : Number(member)
  const chassis = device.chassis[index]
  if (version === undefined || chassis === undefined)
    return say(`${encodeXml('output', `ERROR: ${path}: no such package`)}<package-result>1</package-result>`)
  const isUnexplained = device.faults.has('install_unexplained')
  if ((isUnexplained || device.faults.has('install_fails')) && index === device.chassis.length - 1) {
    device.packageStatus = `Installation of ${version} failed: not enough space`
    const output = isUnexplained ? 'Verified the package' : 'Verified the package\nERROR: not enough space'
    return say(`${encodeXml('output', output)}<package-result>1</package-result>`)
  }
  device.journal.push(`package-add ${index}`)
  device.packageStatus = `${version} is installed`
  chassis.pending = version
  // As recorded: white space around the result, and a hint that a lost connection does not end the installation.
  const cli = '<cli><ignore-signals>\nhup\n</ignore-signals></cli>'
  return say(`${cli}${encodeXml('output', 'Saving state for rollback ...')}<package-result>\n0\n</package-result>`)
}

/** As reported for real devices: the connection breaks without a reply. */
function upgradeCluster(device: JunosDevice, rpc: XmlElement): RpcAnswer {
  if (device.form !== 'cluster' || childOf(rpc, 'no-sync') === undefined) return say(rpcError('syntax error'))
  const path = childOf(rpc, 'package-name')?.text ?? ''
  const version = device.versions.get(device.files.get(path) ?? '')
  if (version === undefined || device.faults.has('install_fails'))
    return say(`${encodeXml('output', `ERROR: ${path}: ISSU Aborted!`)}<package-result>1</package-result>`)
  device.journal.push('in-service-upgrade')
  for (const chassis of device.chassis) chassis.pending = version
  return say(null, allOf(device))
}

function rollBack(device: JunosDevice): RpcAnswer {
  device.journal.push('package-rollback')
  for (const chassis of device.chassis) chassis.pending = chassis.backup
  const result = (chassis: Chassis): string =>
    `${encodeXml('output', `Junos version '${chassis.pending}' will become active at next reboot`)}<package-result>0</package-result>`
  return rebooted(device, allOf(device), {
    body: device.form === 'single' ? result(masterOf(device)) : perEngine(device, result),
  })
}

function reboot(device: JunosDevice, rpc: XmlElement): RpcAnswer {
  const member = childOf(rpc, 'member')?.text
  const node = childOf(rpc, 'node')?.text
  if (node !== undefined && (device.form !== 'cluster' || !/^node[01]$/.test(node)))
    return say(rpcError(`syntax error: ${node}`))
  const part = member ?? node?.slice(-1)
  const indexes = part === undefined ? allOf(device) : [Number(part)]
  device.journal.push(part === undefined ? 'reboot' : `reboot ${part}`)
  // As recorded: the prompt for a person precedes the answer.
  const choice = '<rpc><select-choice><prompt>Reboot the system ? [yes,no] (no) </prompt></select-choice></rpc>'
  const status = `${choice}<request-reboot-results><request-reboot-status reboot-time="1">\nShutdown NOW!\n[pid 4242]\n</request-reboot-status></request-reboot-results>`
  return rebooted(device, indexes, { body: status, inMinutes: Number(childOf(rpc, 'in')?.text ?? 0) })
}

function rebooted(
  { faults }: JunosDevice,
  indexes: readonly number[],
  { body, inMinutes = 0 }: { readonly body: string; readonly inMinutes?: number },
): RpcAnswer {
  return say(faults.has('silent_reboot') && inMinutes === 0 ? null : body, indexes, inMinutes)
}

function allOf({ chassis }: JunosDevice): number[] {
  return chassis.map((_, index) => index)
}
