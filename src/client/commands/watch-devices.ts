import type { Command } from 'commander'
import { type Api, type JsonObject, listAll, objectOf } from '../api.ts'
import { CommandError } from '../exit-codes.ts'
import { textOf, timeText } from '../output.ts'
import type { Session } from '../session.ts'
import { MAX_CHANNELS, followStream } from '../stream.ts'
import { collect, query } from './command.ts'
import { findPlacedDevice, findSite } from './find.ts'

interface WatchOptions {
  readonly site?: readonly string[]
  readonly type: string
}

/** The selected devices. */
interface Watched {
  readonly siteIds: readonly string[]
  /** Null: all devices of the sites. */
  readonly macs: ReadonlySet<string> | null
  readonly type: string
}

/** Adds the command that shows changes of devices as they happen. */
export function addWatchCommand(devices: Command, open: (command: Command) => Session): void {
  devices
    .command('watch [devices...]')
    .description('print each change of name, state, version, address and upgrade of devices, until interrupted')
    .option('--site <name or id>', 'only devices of this site; repeat it for several. Default: all sites', collect)
    .option('--type <type>', 'ap, switch, gateway or all', 'all')
    .action(async (named: readonly string[], options: WatchOptions, command: Command) => {
      const session = open(command)
      const api = await session.connect()
      const orgId = await session.orgId(api)
      await watch(session, api, { orgId, watched: await findWatched(api, orgId, named, options) })
    })
}

async function findWatched(
  api: Api,
  orgId: string,
  named: readonly string[],
  { site = [], type }: WatchOptions,
): Promise<Watched> {
  const devices = []
  for (const name of named) devices.push(await findPlacedDevice(api, orgId, name))
  const siteIds = devices.map(({ siteId }) => siteId)
  for (const name of site) siteIds.push(await findSite(api, orgId, name))
  if (siteIds.length === 0)
    siteIds.push(...(await listAll(api, `/api/v1/orgs/${orgId}/sites?limit=1000`)).map(({ id }) => textOf(id)))
  const all = [...new Set(siteIds)]
  if (all.length === 0) throw new CommandError('usage', 'the organization has no site')
  if (all.length > MAX_CHANNELS)
    throw new CommandError('usage', `${all.length} sites are too many to watch: name at most ${MAX_CHANNELS} by --site`)
  return { siteIds: all, macs: named.length === 0 ? null : new Set(devices.map(({ mac }) => mac)), type }
}

async function watch(
  session: Session,
  api: Api,
  { orgId, watched: { siteIds, macs, type } }: { readonly orgId: string; readonly watched: Watched },
): Promise<void> {
  const { output } = session
  const known = new Map<string, string>()
  let isFirst = true

  function show(stats: JsonObject): void {
    const mac = textOf(stats['mac'])
    if ((macs !== null && !macs.has(mac)) || (type !== 'all' && stats['type'] !== type)) return
    const line = lineOf(stats)
    const hasChanged = known.get(mac) !== line
    known.set(mac, line)
    if (hasChanged && !isFirst) output.show(stats, () => `${timeText(Date.now() / 1000)}  ${line}`)
  }

  async function read(): Promise<void> {
    const sites = siteIds.length > 1 ? [undefined] : siteIds
    for (const siteId of sites)
      for (const stats of await listAll(
        api,
        `/api/v1/orgs/${orgId}/stats/devices${query({ type, site_id: siteId, limit: 1000 })}`,
      ))
        if (siteIds.includes(textOf(stats['site_id']))) show(stats)
    if (isFirst) output.tell(`watching ${known.size} devices at ${siteIds.length} sites`)
    isFirst = false
  }

  await followStream(
    api,
    {
      channels: siteIds.map((siteId) => `/sites/${siteId}/stats/devices`),
      onData: show,
      onGap: read,
      onLost: (why) => output.tell(`connection lost: ${why}; retrying`),
    },
    session.interrupted,
  )
}

function lineOf({ mac, name, hostname, status, version, ip, fwupdate }: JsonObject): string {
  const { status: step, progress } = objectOf(fwupdate)
  const share = typeof progress === 'number' ? ` ${progress} %` : ''
  return [textOf(mac), textOf(name ?? hostname), textOf(status), textOf(version), textOf(ip)]
    .concat(step === undefined ? [] : `${textOf(step)}${share}`)
    .join('  ')
}
