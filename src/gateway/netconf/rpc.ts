import { type XmlContent, type XmlElement, encodeXml, findAll, textOf } from './xml.ts'

/** A request to a device: the name of the operation and its content. */
export interface Rpc {
  readonly name: string
  readonly content: XmlContent
}

export type RpcReply =
  | { readonly kind: 'ok'; readonly root: XmlElement }
  /** The device did not execute the request, or not on all of its routing engines. `text` contains its words. */
  | { readonly kind: 'error'; readonly text: string; readonly root: XmlElement }
  /** The connection broke before the reply, as it does when a device reboots. */
  | { readonly kind: 'broken' }

const BASE = 'urn:ietf:params:xml:ns:netconf:base:1.0'
const BASE_1_0 = 'urn:ietf:params:netconf:base:1.0'
const BASE_1_1 = 'urn:ietf:params:netconf:base:1.1'

export function encodeRpc(id: number, { name, content }: Rpc): string {
  return `<rpc xmlns="${BASE}" message-id="${id}">${encodeXml(name, content)}</rpc>`
}

/** Junos announces its capabilities with both prefixes, depending on its settings. */
export function encodeHello(): string {
  const capabilities = [BASE_1_0, BASE_1_1].map((uri) => `<capability>${uri}</capability>`)
  return `<?xml version="1.0" encoding="UTF-8"?><hello xmlns="${BASE}"><capabilities>${capabilities.join('')}</capabilities></hello>`
}

/** Returns whether the peer knows chunked framing; null for a message that is not a hello of NETCONF. */
export function decodeHello(root: XmlElement): { readonly isChunked: boolean } | null {
  if (root.name !== 'hello') return null
  const capabilities = new Set(findAll(root, 'capability').map(({ text }) => text))
  const isChunked = capabilities.has(BASE_1_1)
  return isChunked || capabilities.has(BASE_1_0) || capabilities.has(BASE) ? { isChunked } : null
}

/** Returns the id of the request that the message answers, and the answer; null for any other message. */
export function decodeRpcReply(root: XmlElement): { readonly id: number; readonly reply: RpcReply } | null {
  if (root.name !== 'rpc-reply') return null
  const id = root.attributes['message-id']
  if (id === undefined || !/^\d{1,9}$/.test(id)) return null
  const text = errorsIn(root)
  return { id: Number(id), reply: text === null ? { kind: 'ok', root } : { kind: 'error', text, root } }
}

/** Returns the texts of all errors inside, without warnings; null if there are none. */
export function errorsIn(element: XmlElement): string | null {
  // `xnm:error` comes from the protocol that Junos had before NETCONF, and still uses inside replies.
  const errors = findAll(element, 'rpc-error', 'error').filter(
    (error) => error.name === 'error' || textOf(error, 'error-severity') !== 'warning',
  )
  const texts = errors.map(
    (error) => textOf(error, 'error-message', 'message') ?? textOf(error, 'error-tag') ?? 'error',
  )
  return texts.length === 0 ? null : texts.map(oneLine).join('; ')
}

/** Part of a reply: that of one routing engine, or the whole reply where the device has only one. */
export interface EnginePart {
  /** `fpc2` of a Virtual Chassis, `node1` of a cluster, `localre`; null if the device has only one. */
  readonly engine: string | null
  readonly element: XmlElement
}

export function partsOf(root: XmlElement): EnginePart[] {
  const items = findAll(root, 'multi-routing-engine-item')
  if (items.length === 0) return [{ engine: null, element: root }]
  return items.map((element) => ({ engine: textOf(element, 're-name'), element }))
}

/**
 * Returns what was read. One routing engine that is down makes the whole reply an error, beside which the parts of the others stand. Null
 * if there are none.
 */
export function rootOfRead(reply: RpcReply): XmlElement | null {
  if (reply.kind === 'broken') return null
  return reply.kind === 'ok' || partsOf(reply.root).some(({ engine }) => engine !== null) ? reply.root : null
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** The requests that the gateway sends. Source: Juniper's YANG modules, 24.4R1. */
export const rpcs = {
  systemInformation: rpc('get-system-information'),
  chassisMacs: rpc('get-chassis-mac-addresses'),
  virtualChassis: rpc('get-virtual-chassis-information'),
  uptime: rpc('get-system-uptime-information'),
  chassisInventory: rpc('get-chassis-inventory'),
  environment: rpc('get-environment-information'),
  firmware: rpc('get-firmware-information'),
  routeEngines: rpc('get-route-engine-information'),
  poeControllers: rpc('get-poe-controller-information'),
  softwareSets: rpc('get-software-sets-information', { 'all-members': true }),
  /** For releases without the other operation. */
  softwareSetsHere: rpc('get-software-sets-information'),
  softwareInformation: rpc('get-software-information'),
  cleanStorage: rpc('request-system-storage-cleanup', { 'no-confirm': true }),
  rollBack: rpc('request-package-rollback', { 'all-members': true, reboot: true }),
  rollBackHere: rpc('request-package-rollback', { reboot: true }),
  snapshot: rpc('request-snapshot', { 'all-members': true, recovery: true }),
  snapshotHere: rpc('request-snapshot', { recovery: true }),
  reboot: (part: { readonly member?: number; readonly node?: string }, inMinutes = 0): Rpc =>
    rpc('request-reboot', { ...part, in: inMinutes }),
  copyFile: (source: string, destination: string): Rpc => rpc('file-copy', { source, destination }),
  checksum: (path: string): Rpc => rpc('get-sha256-checksum-information', { path }),
  addPackage: (path: string, member: number | null): Rpc =>
    rpc('request-package-add', { 'no-validate': true, ...(member !== null && { member }), 'package-name': path }),
  /** What the device says about the last installation. Source: the modules from 21.1R1 on. */
  packageStatus: rpc('request-package-latest-status'),
  /** Installs a package on both nodes of a cluster and reboots them, one after the other. */
  upgradeCluster: (path: string): Rpc =>
    rpc('request-package-in-service-upgrade', { 'no-sync': true, 'package-name': path }),
} as const

function rpc(name: string, content: XmlContent = true): Rpc {
  return { name, content }
}
