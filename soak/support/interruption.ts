import { setTimeout as delay } from 'node:timers/promises'
import type { FleetProcess } from '../../bench/support/fleet-process.ts'
import type { Random } from './random.ts'
import type { Service } from './service.ts'

/** An end of the server in the middle of an upgrade, followed by a restart. */
export interface Interruption {
  readonly signal: 'SIGKILL' | 'SIGINT'
  /** The moment of the interruption, counted from the last start of the server. */
  readonly comes: Moment
  /** How long the server stays down. */
  readonly downMs: number
}

/** `in`: the activity of some device of the rollouts, in this phase or a later one. */
export type Moment =
  | { readonly afterMs: number }
  | { readonly in: 'download' | 'install' | 'boot'; readonly phase: number }

type Range = readonly [number, number]

/** Plans kills, with orderly stops among them, at random times. The server may not be ready yet at these times. */
export function planInterruptions(
  random: Random,
  { kills, stops, upMs, downMs }: { kills: number; stops: number; upMs: Range; downMs: Range },
): Interruption[] {
  const signals = [
    ...Array.from({ length: kills }, () => 'SIGKILL' as const),
    ...Array.from({ length: stops }, () => 'SIGINT' as const),
  ]
  return random.shuffle(signals).map((signal) => ({
    signal,
    comes: { afterMs: random.between(...upMs) },
    downMs: random.between(...downMs),
  }))
}

const LOOK_MS = 50

export interface Watched {
  readonly service: Service
  readonly fleet: FleetProcess
  readonly orgUpgradeIds: readonly string[]
  readonly isOver: () => Promise<boolean>
}

/** @returns False if the rollouts ended before the moment arrived. */
export async function untilMoment(moment: Moment, watched: Watched): Promise<boolean> {
  if ('afterMs' in moment) {
    await delay(moment.afterMs)
    return !(await watched.isOver())
  }
  if (!(await watched.service.ready())) throw new Error(`the server did not start; see ${watched.service.logFile}`)
  while (!(await hasCome(moment, watched))) {
    if (await watched.isOver()) return false
    await delay(LOOK_MS)
  }
  return true
}

async function hasCome(moment: Exclude<Moment, { afterMs: number }>, { service, fleet, orgUpgradeIds }: Watched) {
  const [row] = await service.query<{ phase: number; downloads: number }>(
    `select max(site.current_phase) as phase, count(download.*)::integer as downloads
     from site_upgrade site
     left join device_command command on command.org_id = site.org_id and command.site_upgrade_id = site.id and command.state = 'sent'
     left join firmware_download download on download.org_id = site.org_id and download.command_id = command.id
       and download.delivered_at is null and download.fenced_at is null
     where site.org_upgrade_id = any($1)`,
    [orgUpgradeIds],
  )
  if (row === undefined || row.phase < moment.phase) return false
  if (moment.in === 'download') return row.downloads > 0
  const activity = moment.in === 'install' ? 'installing' : 'booting'
  return [...fleet.journal().values()].some((state) => state.activity.kind === activity)
}
