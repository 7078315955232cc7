import { setInterval } from 'node:timers/promises'
import type { Command } from 'commander'
import { type Api, type JsonObject, listAll, objectOf } from '../api.ts'
import { CommandError } from '../exit-codes.ts'
import { textOf, timeText } from '../output.ts'
import type { Session } from '../session.ts'
import { type Channels, MAX_CHANNELS, followStream } from '../stream.ts'
import { atLeastOne, collect, query } from './command.ts'
import { findPlacedDevice, findSite } from './find.ts'

interface WatchOptions {
  readonly site?: readonly string[]
  readonly type: string
  readonly refresh: number
}

/** No channel of the stream reports new sites. */
const REFRESH_S = 30

/** The selected devices. */
interface Watched {
  readonly siteIds: ReadonlySet<string>
  /** True if none was named: sites that are created later are watched, too. */
  readonly isAllSites: boolean
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
    .option('--refresh <seconds>', 'how often to look for new sites, at least 1', atLeastOne, REFRESH_S)
    .action(async (named: readonly string[], options: WatchOptions, command: Command) => {
      const session = open(command)
      const api = await session.connect()
      const orgId = await session.orgId(api)
      const watched = await findWatched(api, orgId, named, options)
      await watch(session, api, { orgId, watched, refreshMs: 1000 * options.refresh })
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
  const isAllSites = siteIds.length === 0
  const all = new Set(isAllSites ? await listSiteIds(api, orgId) : siteIds)
  if (all.size === 0) throw new CommandError('usage', 'the organization has no site')
  if (all.size > MAX_CHANNELS)
    throw new CommandError('usage', `${all.size} sites are too many to watch: name at most ${MAX_CHANNELS} by --site`)
  return { siteIds: all, isAllSites, macs: named.length === 0 ? null : new Set(devices.map(({ mac }) => mac)), type }
}

async function listSiteIds(api: Api, orgId: string): Promise<string[]> {
  return (await listAll(api, `/api/v1/orgs/${orgId}/sites?limit=1000`)).map(({ id }) => textOf(id))
}

interface WatchParts {
  readonly orgId: string
  readonly watched: Watched
  readonly refreshMs: number
}

async function watch(
  session: Session,
  api: Api,
  { orgId, watched: { siteIds: first, isAllSites, macs, type }, refreshMs }: WatchParts,
): Promise<void> {
  const { output, interrupted } = session
  const siteIds = new Set(first)
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
    const sites = siteIds.size > 1 ? [undefined] : siteIds
    for (const siteId of sites)
      for (const stats of await listAll(
        api,
        `/api/v1/orgs/${orgId}/stats/devices${query({ type, site_id: siteId, limit: 1000 })}`,
      ))
        if (siteIds.has(textOf(stats['site_id']))) show(stats)
    if (isFirst) output.tell(`watching ${known.size} devices at ${siteIds.size} sites`)
    isFirst = false
  }

  async function watchNewSites(channels: Channels): Promise<void> {
    for await (const _ of setInterval(refreshMs, undefined, { signal: interrupted })) {
      // While the server is away, the stream reports that.
      const found = await listSiteIds(api, orgId).catch(() => [])
      for (const siteId of found) {
        if (siteIds.has(siteId) || siteIds.size >= MAX_CHANNELS) continue
        siteIds.add(siteId)
        channels.add(channelOf(siteId))
      }
    }
  }

  await followStream(
    api,
    {
      channels: [...siteIds].map(channelOf),
      onData: show,
      onGap: read,
      onLost: (why) => output.tell(`connection lost: ${why}; retrying`),
    },
    interrupted,
    (channels) => {
      // It ends by the interruption.
      if (isAllSites) watchNewSites(channels).catch(() => {})
    },
  )
}

function channelOf(siteId: string): string {
  return `/sites/${siteId}/stats/devices`
}

function lineOf({ mac, name, hostname, status, version, ip, fwupdate }: JsonObject): string {
  const { status: step, progress } = objectOf(fwupdate)
  const share = typeof progress === 'number' ? ` ${progress} %` : ''
  return [textOf(mac), textOf(name ?? hostname), textOf(status), textOf(version), textOf(ip)]
    .concat(step === undefined ? [] : `${textOf(step)}${share}`)
    .join('  ')
}
