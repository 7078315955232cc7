import type { Command } from 'commander'
import { rowsOf } from '../api.ts'
import { type Column, details, fields, table } from '../output.ts'
import { type AddCommands, query, wholeNumber } from './command.ts'
import { findDevice, findPlacedDevice, findSite, searchDevices } from './find.ts'
import { addPingCommand } from './ping-device.ts'
import { addWatchCommand } from './watch-devices.ts'

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

/** The commands to one device, by the last part of their paths. */
const orders = [
  { name: 'restart', description: 'restart a device', done: 'restarts' },
  { name: 'locate', description: 'make a device blink', done: 'blinks' },
  { name: 'unlocate', description: 'stop the blinking of a device', done: 'no longer blinks' },
] as const

export const addDeviceCommands: AddCommands = (program, open) => {
  const devices = program.command('devices').description('list and command devices')

  devices
    .command('list')
    .description('list devices with their state')
    .option('--site <name or id>', 'only devices of this site')
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
    .option('--limit <number>', 'highest number of devices', wholeNumber, 100)
    .action(async (text: string, { limit }: { limit: number }, command) => {
      const session = open(command)
      const api = await session.connect()
      const rows = await searchDevices(api, await session.orgId(api), { text, limit })
      session.output.show(rows, () => table(columns, rows, session.width))
    })

  devices
    .command('show <device>')
    .description('show a device, given by its name, MAC address or id')
    .action(async (named: string, _options, command) => {
      const session = open(command)
      const api = await session.connect()
      const device = await findDevice(api, await session.orgId(api), named)
      session.output.show(device, () => details(device))
    })

  for (const { name, description, done } of orders)
    devices
      .command(`${name} <device>`)
      .description(`${description}, given by its name, MAC address or id`)
      .action(async (named: string, _options: unknown, command: Command) => {
        const session = open(command)
        const api = await session.connect()
        const { mac, path } = await findPlacedDevice(api, await session.orgId(api), named)
        const answer = await api.post(`/api/v1${path}/${name}`)
        session.output.show(answer, () => `device ${mac} ${done}`)
      })

  addPingCommand(devices, open)
  addWatchCommand(devices, open)
}
