import type { Command } from 'commander'
import { type Api, type JsonObject, rowsOf } from '../api.ts'
import { CommandError } from '../exit-codes.ts'
import { type Column, details, fields, table, textOf } from '../output.ts'
import { type AddCommands, query, wholeNumber } from './command.ts'

interface ListOptions {
  readonly site?: string
  readonly type: string
  readonly status?: string
  readonly limit: number
  readonly page: number
}

const columns: readonly Column[] = [
  { heading: 'name', of: ({ name, hostname }) => name ?? (Array.isArray(hostname) ? hostname[0] : hostname) },
  ...fields('mac', 'type', 'model', 'status', 'version', 'ip'),
]

/** The commands to one device. */
const orders = [
  { name: 'restart', path: 'restart', description: 'restart a device', done: 'restarts' },
  { name: 'locate', path: 'locate', description: 'make a device blink', done: 'blinks' },
  { name: 'unlocate', path: 'unlocate', description: 'stop the blinking of a device', done: 'no longer blinks' },
] as const

export const addDeviceCommands: AddCommands = (program, open) => {
  const devices = program.command('devices').description('list and command devices')

  devices
    .command('list')
    .description('list devices with their state')
    .option('--site <name or id>', 'those of one site')
    .option('--type <type>', 'ap, switch, gateway or all', 'all')
    .option('--status <status>', 'connected or disconnected')
    .option('--limit <number>', 'devices of one page', wholeNumber, 100)
    .option('--page <number>', 'the page', wholeNumber, 1)
    .action(async ({ site, ...filters }: ListOptions, command) => {
      const session = open(command)
      const api = await session.connect()
      const orgId = await session.orgId(api)
      const siteId = site === undefined ? undefined : await findSite(api, orgId, site)
      const path = `/api/v1/orgs/${orgId}/stats/devices${query({ ...filters, site_id: siteId })}`
      const rows = rowsOf(await api.get(path))
      session.output.show(rows, () => table(columns, rows, session.width))
    })

  devices
    .command('search <text>')
    .description('find devices by a part of their name, or by a MAC address or the beginning of one')
    .option('--limit <number>', 'devices at most', wholeNumber, 100)
    .action(async (text: string, { limit }: { limit: number }, command) => {
      const session = open(command)
      const api = await session.connect()
      const rows = await searchDevices(api, await session.orgId(api), { text, limit })
      session.output.show(rows, () => table(columns, rows, session.width))
    })

  devices
    .command('show <device>')
    .description('show what is known of a device: its name, MAC address or id')
    .action(async (named: string, _options, command) => {
      const session = open(command)
      const api = await session.connect()
      const device = await findDevice(api, await session.orgId(api), named)
      session.output.show(device, () => details(device))
    })

  for (const { name, path, description, done } of orders)
    devices
      .command(`${name} <device>`)
      .description(`${description}: its name, MAC address or id`)
      .action(async (named: string, _options: unknown, command: Command) => {
        const session = open(command)
        const api = await session.connect()
        const { id, site_id: siteId, mac } = await findDevice(api, await session.orgId(api), named)
        if (siteId === null || siteId === undefined)
          throw new CommandError('usage', `device ${textOf(mac)} is at no site, and only those at a site take commands`)
        const answer = await api.post(`/api/v1/sites/${textOf(siteId)}/devices/${textOf(id)}/${path}`)
        session.output.show(answer, () => `device ${textOf(mac)} ${done}`)
      })
}

/** Finds a site by its id or its name. @throws CommandError usage. */
export async function findSite(api: Api, orgId: string, named: string): Promise<string> {
  if (isUuid(named)) return named
  const path = `/api/v1/orgs/${orgId}/sites/search${query({ name: named, limit: 1000 })}`
  const found = rowsOf(await api.get(path)).filter(({ name }) => name === named)
  const [site] = found
  if (site !== undefined && found.length === 1) return textOf(site['id'])
  throw new CommandError(
    'usage',
    `${found.length === 0 ? 'no site is' : 'several sites are'} named ${JSON.stringify(named)}`,
  )
}

async function searchDevices(
  api: Api,
  orgId: string,
  { text, limit }: { readonly text: string; readonly limit: number },
): Promise<readonly JsonObject[]> {
  const plain = text.replaceAll(/[:.-]/g, '').toLowerCase()
  const isMac = /^[0-9a-f]{4,12}$/.test(plain)
  const searchBy = async (filter: Readonly<Record<string, string>>): Promise<readonly JsonObject[]> =>
    rowsOf(await api.get(`/api/v1/orgs/${orgId}/devices/search${query({ type: 'all', limit, ...filter })}`))
  const found = [
    ...(isMac ? await searchBy({ mac: plain.length === 12 ? plain : `${plain}*` }) : []),
    ...(await searchBy({ hostname: `*${text}*` })),
  ]
  return [...new Map(found.map((device) => [device['mac'], device])).values()].slice(0, limit)
}

/** Finds one device. @throws CommandError usage where none or several fit. */
async function findDevice(api: Api, orgId: string, named: string): Promise<JsonObject> {
  const mac = macOf(named)
  const fitting = mac !== null ? [mac] : await macsNamed(api, orgId, named)
  const [only] = fitting
  if (only === undefined) throw new CommandError('usage', `no device is named ${JSON.stringify(named)}`)
  if (fitting.length > 1) throw new CommandError('usage', `several devices have this name: ${fitting.join(', ')}`)
  const path = `/api/v1/orgs/${orgId}/stats/devices${query({ type: 'all', mac: only })}`
  const [device] = rowsOf(await api.get(path))
  if (device === undefined) throw new CommandError('usage', `no device has the MAC address ${only}`)
  return device
}

async function macsNamed(api: Api, orgId: string, named: string): Promise<string[]> {
  const found = await searchDevices(api, orgId, { text: named, limit: 1000 })
  return found.flatMap(({ mac, hostname }) =>
    [hostname].flat().includes(named) && typeof mac === 'string' ? [mac] : [],
  )
}

/** The ids of devices end with their MAC addresses. */
function macOf(named: string): string | null {
  if (isUuid(named)) return named.slice(-12).toLowerCase()
  const plain = named.replaceAll(/[:.-]/g, '').toLowerCase()
  return /^[0-9a-f]{12}$/.test(plain) ? plain : null
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}
